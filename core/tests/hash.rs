//! One key, one hash, everywhere: the vectors of docs/FORMAT.md, and what is and is not the same key.

mod common;

use sketchline::{BloomFilter, BloomParams, HashScheme, KeyHash, canonical_f64};

fn counting(len: usize) -> Vec<u8> {
    (0..len).map(|i| i as u8).collect()
}

/// From the pure Python of `.ci/format.py`, which was compared with xxHash's own.
#[test]
fn vectors() {
    let seed_0 = [
        (vec![], 0x2d06_8005_38d3_94c2),
        (b"a".to_vec(), 0xe6c6_32b6_1e96_4e1f),
        (b"alice".to_vec(), 0x4da1_0dd6_1a01_16b0),
        (42u64.to_le_bytes().to_vec(), 0xd5a6_f8c8_38df_27c8),
        (counting(16), 0x8355_e3a6_f617_70db),
        (counting(100), 0x004e_4f92_1a64_bd1c),
        (counting(200), 0xf42a_8864_feaf_0703),
        (counting(300), 0xd440_52f5_a348_5425),
    ];
    for (key, hash) in seed_0 {
        assert_eq!(KeyHash::of(&key, 0).raw(), hash, "{} bytes", key.len());
    }
    assert_eq!(KeyHash::of(b"alice", 7).raw(), 0x5bc2_676d_8cc3_37af);
    assert_eq!(KeyHash::of_u64(42, 7).raw(), 0xb117_e48c_a46d_c725);
    assert_eq!(KeyHash::of(&counting(300), 7).raw(), 0xb863_d8c6_eef5_bca4);
}

/// Of the memory it lies in, a hash sees the key alone.
#[test]
fn any_alignment_and_length() {
    let bytes = counting(2000);
    for len in (0..300).chain([511, 512, 513, 1023, 1024, 1025]) {
        let hash = KeyHash::of(&bytes[..len], 3);
        for offset in 1..9 {
            let mut moved = vec![0xff; len + 20];
            moved[offset..offset + len].copy_from_slice(&bytes[..len]);
            assert_eq!(KeyHash::of(&moved[offset..offset + len], 3), hash, "{len} bytes");
        }
        assert_ne!(KeyHash::of(&bytes[..len + 1], 3), hash);
        assert_ne!(KeyHash::of(&bytes[..len], 4), hash);
    }
}

#[test]
fn mixing_is_splitmix64() {
    // Its first outputs from state 0.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    assert_eq!(KeyHash::mixed(STEP).raw(), 0xe220_a839_7b1d_cdaf);
    assert_eq!(KeyHash::mixed(STEP.wrapping_mul(2)).raw(), 0x6e78_9e6a_a1b9_65f4);
    assert_eq!(common::Random(0).next(), 0xe220_a839_7b1d_cdaf);
    assert_eq!(KeyHash::from_raw(5).raw(), 5);
}

#[test]
fn floats_that_are_equal_are_one_key() {
    assert_eq!(canonical_f64(-0.0), [0; 8]);
    assert_eq!(canonical_f64(1.5), 1.5f64.to_le_bytes());
    assert_eq!(canonical_f64(-f64::INFINITY), f64::NEG_INFINITY.to_le_bytes());
    for bits in [0x7ff8_0000_0000_0000, 0xfff8_0000_0000_0000, 0x7ff0_0000_0000_0001, u64::MAX] {
        assert_eq!(canonical_f64(f64::from_bits(bits)), 0x7ff8_0000_0000_0000u64.to_le_bytes());
    }
    assert_eq!(KeyHash::of_f64(-0.0, 7), KeyHash::of_f64(0.0, 7));
    assert_eq!(KeyHash::of_f64(2.5, 7), KeyHash::of(&2.5f64.to_le_bytes(), 7));
    assert_ne!(KeyHash::of_f64(f64::from_bits(1), 7), KeyHash::of_f64(0.0, 7));
}

/// Bytes are hashed as given.
#[test]
fn keys_that_look_alike_are_several_keys() {
    let alike: [&[u8]; 7] = [b"V0", b"V0\0", b"\0V0", b"v0", b"V0 ", b"", b"\0"];
    for (i, inserted) in alike.iter().enumerate() {
        let params = BloomParams::explicit(100, 12).unwrap().with_hashing(HashScheme::Xxh3 { seed: 1 });
        let mut filter = BloomFilter::new(params).unwrap();
        filter.insert(inserted).unwrap();
        for (j, asked) in alike.iter().enumerate() {
            assert_eq!(filter.contains(asked), Ok(i == j), "{inserted:?}, {asked:?}");
        }
    }
}
