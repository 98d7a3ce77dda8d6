# bcryptprimitives.dll with the one function that Go programs take from it, ProcessPrng, for versions of Wine that have no such library:
# it fills rdx bytes at rcx with random numbers of the processor.
	.globl ProcessPrng
	.globl DllMain
	.text
DllMain:
	movl $1, %eax
	ret
ProcessPrng:
	testq %rdx, %rdx
	je 2f
1:	rdrand %rax
	movb %al, (%rcx)
	incq %rcx
	decq %rdx
	jne 1b
2:	movl $1, %eax
	ret
