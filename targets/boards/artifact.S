/* The artifact as constant data, in flash: ARTIFACT is the name of its file. */
    .section .rodata.artifact, "a"
    .balign 16
    .global artifact
artifact:
    .incbin ARTIFACT
    .global artifact_end
artifact_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
