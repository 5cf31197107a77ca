/* Sockets of MPI whose peer is gone.
 *
 * Open MPI 4.1 does not survive that itself: when it finds the peer of a socket dead
 * while something is still to be written to it, it ends the process ("FATAL"), and
 * when a write is what finds it dead, the next one spins for ever. So the program
 * has a writev and a readv of its own, which come before those of the C library: they
 * put a socket that says nothing in the place of one whose peer is gone, and MPI waits
 * on it as on any peer that is slow. Who is lost, the deadlines of the callers find. */
#ifndef ASSAY_COORD_COMM_SOCKETS_H
#define ASSAY_COORD_COMM_SOCKETS_H

/* From now on, for the sockets this thread writes and reads; other threads (those of
 * PMIx, which has to know when its daemon is gone) and child processes are left
 * alone. Without two free descriptors nothing changes. */
void comm_sockets_quiet(void);

#endif
