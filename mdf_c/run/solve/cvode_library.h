/* cvode_library.h - what of SUNDIALS' CVODES the engine uses, loaded when a state first solves by it. */
#ifndef MDF_RUN_SOLVE_CVODE_LIBRARY_H
#define MDF_RUN_SOLVE_CVODE_LIBRARY_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/late_library.h"
#include "mdf_c/mdf.h"

#include <cvodes/cvodes.h>
#include <cvodes/cvodes_ls.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#define MDF_CVODE_FUNCTIONS(X)    \
    X(SUNContext_Create)          \
    X(SUNContext_Free)            \
    X(N_VNew_Serial)              \
    X(N_VDestroy)                 \
    X(SUNDenseMatrix)             \
    X(SUNMatDestroy)              \
    X(SUNLinSol_Dense)            \
    X(SUNLinSolFree)              \
    X(SUNNonlinSol_FixedPoint)    \
    X(SUNNonlinSolFree)           \
    X(CVodeCreate)                \
    X(CVodeInit)                  \
    X(CVodeReInit)                \
    X(CVodeWFtolerances)          \
    X(CVodeSetUserData)           \
    X(CVodeSetErrHandlerFn)       \
    X(CVodeSetMaxNumSteps)        \
    X(CVodeSetMaxStep)            \
    X(CVodeGetNumSteps)           \
    X(CVodeSetMaxErrTestFails)    \
    X(CVodeGetLastStep)           \
    X(CVodeGetCurrentGamma)       \
    X(CVodeGetErrWeights)         \
    X(CVodeGetNumErrTestFails)    \
    X(CVodeGetNumNonlinSolvConvFails) \
    X(CVodeSetLinearSolver)       \
    X(CVodeSetNonlinearSolver)    \
    X(CVodeSetInitStep)           \
    X(CVodeSetJacFn)              \
    X(SUNBandMatrix)              \
    X(SUNLinSol_Band)             \
    X(CVodeRootInit)              \
    X(CVodeSetRootDirection)      \
    X(CVodeSetNoInactiveRootWarn) \
    X(CVodeGetRootInfo)           \
    X(CVodeSensInit)              \
    X(CVodeSensEEtolerances)      \
    X(CVodeSetSensErrCon)         \
    X(CVodeGetSens)               \
    X(CVodeSetNonlinearSolverSensStg) \
    X(SUNNonlinSol_FixedPointSens) \
    X(N_VCloneVectorArray)        \
    X(N_VDestroyVectorArray)      \
    X(CVode)                      \
    X(CVodeFree)

struct mdf_cvode_library {
    MDF_CVODE_FUNCTIONS(MDF_LATE_POINTER)
};

/* Sets the pointers. MDF_UNSUPPORTED: the library is not there. */
mdf_status mdf_cvode_library_load(struct mdf_cvode_library *library, mdf_error *error);

#endif
