# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Services of the card that need no CPU: the configuration flash and the reboot from it."""
