# Cuts the C++ blocks out of a Markdown page, one file a block, with the output each announces.
# SPDX-License-Identifier: MIT
#
# usage: awk -v stem=<path and prefix of the files> -f extract.awk page.md
#
# A block opened by ```cpp is a whole program; one opened by ```output right after it is what it
# prints. Writes <stem><k>.cpp and, if announced, <stem><k>.out, and lists the programs on stdout.
/^```cpp$/ {
  target = stem (++count) ".cpp"
  printf "#line %d \"%s\"\n", FNR + 1, FILENAME > target
  print target
  next
}
/^```output$/ {
  target = stem count ".out"
  printf "" > target
  next
}
/^```/ {
  if (target != "") close(target)
  target = ""
  next
}
target != "" { print > target }
