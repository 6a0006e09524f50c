from whole_proof.sanitizers import SanitizerFault, read_reports

SANITIZERS = """\
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000001f40 at pc 0x7f3c bp 0x7ffd sp 0x7ffc
READ of size 1 at 0x602000001f40 thread T0
    #0 0x7f3c0a in __interceptor_memcpy ../../../../src/libsanitizer/asan/asan_interceptors.c:22
    #1 0x7f3c0b in blur__source src/libImaging/BoxBlur.c:54
    #2 0x7f3c0c in ImagingBoxBlur src/libImaging/BoxBlur.c:90
src/libImaging/Filter.c:12:34: runtime error: shift exponent 33 is too large for 32-bit type 'int'
    #0 0x7f3c0d in ImagingFilter src/libImaging/Filter.c:12
"""


def test_a_report_is_identified_by_kind_and_innermost_function() -> None:
    assert read_reports(SANITIZERS) == {
        SanitizerFault(kind="heap-buffer-overflow", function="blur"),
        SanitizerFault(kind="shift exponent N is too large for N-bit type 'int'", function="ImagingFilter"),
    }
    assert read_reports("all is well\n") == frozenset()
