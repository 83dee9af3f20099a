//! Instruction-set dispatch and the vector kernels, each with its scalar twin.
