/* Test only: a section of a name that is none of ours. */
__attribute__((section(".odd"), used)) static const int odd = 1;
