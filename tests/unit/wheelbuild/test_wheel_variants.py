import json

import pytest

from fastinstall.wheelbuild.variants import index_file, metadata_of, read_variant, split_label, variant_of

STEM = "pillow-13.0.0+simd.v2.v3-cp311-cp311-linux_x86_64"


def test_a_level_is_told_by_label_and_property() -> None:
    variant = variant_of("x86-64-v3")

    assert variant.label == "x86_64_v3"
    assert variant.properties == {"x86_64": {"level": ["v3"]}}


def test_the_null_variant_asks_for_nothing() -> None:
    assert (variant_of(None).label, variant_of(None).properties) == ("null", {})


@pytest.mark.parametrize(
    ("filename", "plain", "label"),
    [
        (f"{STEM}-x86_64_v3.whl", f"{STEM}.whl", "x86_64_v3"),
        (f"{STEM}-null.whl", f"{STEM}.whl", "null"),
        (f"{STEM}.whl", f"{STEM}.whl", ""),
        ("pillow-1-1b-cp311-cp311-linux_x86_64.whl", "pillow-1-1b-cp311-cp311-linux_x86_64.whl", ""),
        ("pillow-1-1b-cp311-cp311-linux_x86_64-null.whl", "pillow-1-1b-cp311-cp311-linux_x86_64.whl", "null"),
        (f"{STEM}-Too_Great.whl", f"{STEM}-Too_Great.whl", ""),
        (f"{STEM}-{'a' * 17}.whl", f"{STEM}-{'a' * 17}.whl", ""),
        ("pillow.whl", "pillow.whl", ""),
    ],
)
def test_a_label_ends_the_name(filename: str, plain: str, label: str) -> None:
    assert split_label(filename) == (plain, label)


def test_a_document_tells_all_variants_and_is_read_again() -> None:
    both = json.loads(metadata_of((variant_of("x86-64-v3"), variant_of(None))))

    assert both["default-priorities"] == {"namespace": ["x86_64"]}
    assert both["variants"] == {"null": {}, "x86_64_v3": {"x86_64": {"level": ["v3"]}}}
    assert read_variant(metadata_of((variant_of("x86-64-v3"),)), "x86_64_v3") == variant_of("x86-64-v3")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "schema"),
        ('{"$schema": "https://example.org/later.json"}', "schema"),
        (metadata_of((variant_of(None),)), "does not describe"),
        (metadata_of((variant_of("x86-64-v3"), variant_of(None))), "does not describe"),
    ],
)
def test_another_document_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_variant(text, "x86_64_v3")


def test_the_file_of_an_index_is_named_as_wheels_are() -> None:
    assert index_file("pillow-simd", "12.1.1.post0+simd") == "pillow_simd-12.1.1.post0+simd-variants.json"
