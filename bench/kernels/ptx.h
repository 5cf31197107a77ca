/* The device code as it is handed to cuModuleLoadData. */
#ifndef ASSAY_KERNELS_PTX_H
#define ASSAY_KERNELS_PTX_H

extern const char kernels_ptx[];

#endif
