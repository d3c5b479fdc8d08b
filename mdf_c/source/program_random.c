/* program_random.c - random numbers of generated code: the generators, which lie in the state, and NAME_seed. What draws from
 * them are routines (functions/kernel/routine.h) with s->random and s->streams; see docs/random.md. */
#include "mdf_c/source/program_writer.h"

/* As functions/sampling/random.h has them. Sources of two models may meet in one file. */
static const char generators[] = "#ifndef MDF_GENERATORS\n"
                                 "#define MDF_GENERATORS\n"
                                 "enum { MDF_TWISTER_WORDS = 624 };\n\n"
                                 "/* A Mersenne Twister. */\n"
                                 "struct mdf_twister {\n"
                                 "    uint32_t words[MDF_TWISTER_WORDS], n_used;\n"
                                 "    bool is_seeded, has_normal;\n"
                                 "    double normal; /* the second deviate of a pair, if has_normal */\n"
                                 "};\n\n"
                                 "/* One of a function's own. */\n"
                                 "struct mdf_stream {\n"
                                 "    struct mdf_twister twister;\n"
                                 "    uint32_t seed;\n"
                                 "    bool has_begun;\n"
                                 "};\n\n"
                                 "/* Those that all share: xoshiro256**, and what stands for numpy.random. */\n"
                                 "struct mdf_generators {\n"
                                 "    uint64_t seed, bits[4];\n"
                                 "    struct mdf_twister numpy_random;\n"
                                 "};\n"
                                 "#endif\n\n";

void mdf_source_append_generators(const struct mdf_source_program *program, struct mdf_text *text)
{
    if (program->writer.draws) {
        mdf_text_append_string(text, generators);
    }
}

void mdf_source_append_random_fields(const struct mdf_source_program *program, struct mdf_text *text)
{
    if (program->writer.draws) {
        mdf_text_append_string(text, "\n    struct mdf_generators random; /* random numbers */\n");
    }
    if (program->writer.n_streams > 0) {
        mdf_text_printf(text, "    struct mdf_stream streams[%zu]; /* those of functions that have a seed of their own */\n",
                        program->writer.n_streams);
    }
}

void mdf_source_append_seed(struct mdf_source_program *program)
{
    struct mdf_text *functions = &program->functions;

    mdf_text_printf(functions, "void %s_seed(struct %s *s, uint64_t seed)\n{\n", program->name, program->name);
    if (program->writer.draws) {
        mdf_text_printf(functions,
                        "    memset(&s->random, 0, sizeof s->random);\n%s    s->random.seed = seed;\n"
                        "    %s(s->random.bits, seed);\n}\n\n",
                        program->writer.n_streams > 0 ? "    memset(s->streams, 0, sizeof s->streams);\n" : "",
                        mdf_source_use(&program->writer, "random_seed"));
    } else {
        mdf_text_append_string(functions, "    (void)s; /* nothing is drawn */\n    (void)seed;\n}\n\n");
    }
}
