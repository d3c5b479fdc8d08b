# What find_package(mdf) reads: the target mdf::mdf, the shared library with its header, where it was installed.
include("${CMAKE_CURRENT_LIST_DIR}/mdf-config-version.cmake")
get_filename_component(_mdf_libraries "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
if(NOT TARGET mdf::mdf)
    add_library(mdf::mdf SHARED IMPORTED)
    set_target_properties(mdf::mdf PROPERTIES
        IMPORTED_LOCATION "${_mdf_libraries}/libmdf.so"
        IMPORTED_SONAME "@SONAME@"
        INTERFACE_INCLUDE_DIRECTORIES "@INCLUDEDIR@")
endif()
unset(_mdf_libraries)
