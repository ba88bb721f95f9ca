# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Card services: register blocks for the card's own upkeep, none of which is in the data path."""
