// A test that names a rule.
// SPDX-License-Identifier: MIT
TEST(Rules, W1_IsTested) {}
