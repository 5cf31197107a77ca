# What cmake --install lays out beside the program, and the .deb of it:
#
#   cmake -S . -B b && cmake --build b && (cd b && cpack)
#
# Only the four libraries that assay is linked with are depended on. What it opens at
# run time is recommended or suggested where Debian has it; nothing of a GPU vendor is
# named at all, for a package of it would pull a driver onto a machine that has its own.

set(shared share/assay)
install(PROGRAMS scripts/cluster/launch scripts/cluster/build-comm scripts/cluster/assay.sbatch
  DESTINATION ${shared}/scripts/cluster)
install(FILES scripts/cluster/mpijob.yaml DESTINATION ${shared}/scripts/cluster)
# The one source file that a site builds with its own MPI, where build-comm looks for it.
install(FILES include/assay/comm.h include/assay/status.h DESTINATION ${shared}/include/assay)
install(FILES src/coord/comm_mpi.c DESTINATION ${shared}/src/coord)
install(PROGRAMS scripts/gpu-check scripts/anonymise DESTINATION ${shared})
install(DIRECTORY scripts/gpu_check DESTINATION ${shared} FILES_MATCHING PATTERN "*.py")
# To read and to begin one's own from; the program has its own copies inside.
install(DIRECTORY configs DESTINATION ${shared} PATTERN "suites" EXCLUDE PATTERN "noise" EXCLUDE)
install(FILES scripts/assay-watch.service DESTINATION ${shared})
install(FILES README.md DESTINATION share/doc/assay)
install(FILES bench/README.md DESTINATION share/doc/assay RENAME metrics.md)
install(FILES LICENSE DESTINATION share/doc/assay RENAME copyright)

# Without it a package would say that it needs nothing.
find_program(ASSAY_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(ASSAY_SHLIBDEPS)
if(NOT ASSAY_SHLIBDEPS)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_CONTACT "The Assay developers <assay@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "acceptance test for rented GPU clusters")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Measures the cards, links, nodes and storage of a rented cluster, judges them by
a profile and names what is to blame. Needs no GPU, driver or MPI to be installed:
what is not there is said to be not measured.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fio, libopenblas0-pthread | libblis4-pthread")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
  "libibverbs1, openmpi-bin | mpich, openssh-client, python3, bash-completion")
include(CPack)
