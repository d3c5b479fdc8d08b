/* ctrl_c.c - Ctrl-C for hosts whose own handlers wait for the end of a call, as Python's do: comes in a state, SIGINT asks its
 * evaluation to stop. What is kept here is the process's, as its handlers are. */
#include "mdf_c/api/arguments.h"
#include "mdf_c/mdf.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static _Atomic(mdf_state *) asked; /* NULL: none, and the handler is not ours */
static atomic_int n_hearing;       /* threads in whose handler a state is asked */
static struct sigaction theirs;    /* the handler that there was, while ours is */

/* Theirs comes first: where the evaluation has ended for it, the host knows why. */
static void hear(int number, siginfo_t *about, void *context)
{
    if ((theirs.sa_flags & SA_SIGINFO) != 0) {
        theirs.sa_sigaction(number, about, context);
    } else {
        theirs.sa_handler(number);
    }
    atomic_fetch_add(&n_hearing, 1);
    mdf_state_interrupt(atomic_load(&asked));
    atomic_fetch_sub(&n_hearing, 1);
}

static void install(void)
{
    struct sigaction ours;

    if (sigaction(SIGINT, NULL, &theirs) != 0 ||
        ((theirs.sa_flags & SA_SIGINFO) == 0 && (theirs.sa_handler == SIG_DFL || theirs.sa_handler == SIG_IGN))) {
        return;
    }
    ours = theirs;
    ours.sa_flags |= SA_SIGINFO;
    ours.sa_sigaction = hear;
    sigaction(SIGINT, &ours, NULL);
}

/* A handler that was set meanwhile stays. */
static void remove_ours(void)
{
    struct sigaction now;

    if (sigaction(SIGINT, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == hear) {
        sigaction(SIGINT, &theirs, NULL);
    }
}

mdf_state *mdf_ctrl_c_asks(mdf_state *state)
{
    mdf_state *before = atomic_exchange(&asked, state);

    if (before == NULL && state != NULL) {
        install();
    } else if (before != NULL && state == NULL) {
        remove_ours();
    }
    return before;
}

void mdf_ctrl_c_forget(mdf_state *state)
{
    mdf_state *found = state;

    if (atomic_compare_exchange_strong(&asked, &found, NULL)) {
        remove_ours();
    }
    while (atomic_load(&n_hearing) > 0) { /* in another thread, which may ask the one that is freed */
    }
}
