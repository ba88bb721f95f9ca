# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# SpinalHDL tells make to compile each file of Verilator's C++ by itself. make reads this file before
# its makefiles (variable MAKEFILES), and compiles all of the files as one. Most of the compiler's time
# is for the headers that each file includes.
override VM_PARALLEL_BUILDS := 0
