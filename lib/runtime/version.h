/* version.h - the version of this build, as --version shows it. */
#ifndef ORBLOOM_RUNTIME_VERSION_H
#define ORBLOOM_RUNTIME_VERSION_H

#define ORBLOOM_VERSION "0.1.0"

#endif
