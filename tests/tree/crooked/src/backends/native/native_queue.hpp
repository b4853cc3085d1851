// What backends.table says is not there, for tests/tree to find.
// SPDX-License-Identifier: MIT
