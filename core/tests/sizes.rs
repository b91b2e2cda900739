//! Sizes as a host meets them: whole blocks, alignment, limits, and the same numbers on every machine.

mod common;

use common::JUNK;
use sketchline::{
    BloomFilter, BloomMut, BloomParams, Error, HashScheme, KeyHash, MAX_BITS_PER_KEY, MAX_BLOCKS, MAX_BYTES, MAX_KEYS,
};

/// Every number of keys gives whole blocks, and the greatest hash lands in the last of them.
#[test]
fn every_small_size_is_whole_blocks() {
    for keys in 1..=5000 {
        let sizes = [
            BloomParams::for_bits_per_key(keys, 10.0).unwrap(),
            BloomParams::for_fpr(keys, 0.01).unwrap(),
            BloomParams::for_bytes(keys, 64 + keys).unwrap(),
        ];
        for params in sizes {
            assert_eq!(params.payload_bytes(), 64 * u64::from(params.num_blocks()));
            assert_eq!(params.image_bytes(), 64 + params.payload_bytes());
            assert_eq!(params.capacity(), keys);
        }
        assert!(sizes[0].payload_bytes() * 8 >= 10 * keys && sizes[0].payload_bytes() * 8 < 10 * keys + 512);
        assert!(sizes[1].predicted_fpr() <= 0.01);
        assert_eq!(sizes[2].payload_bytes(), (64 + keys) / 64 * 64);

        let mut filter = BloomFilter::new(sizes[0]).unwrap();
        assert_eq!(filter.as_bytes().len() as u64, sizes[0].image_bytes());
        filter.insert_hash(KeyHash::from_raw(u64::MAX));
        let (last, others) = filter.blocks().split_last().unwrap();
        assert!(*last != [0; 64] && others.iter().all(|block| *block == [0; 64]));
        filter.insert_hash(KeyHash::from_raw(0));
        assert!(filter.blocks()[0] != [0; 64]);
    }
}

#[test]
fn owned_filters_are_aligned() {
    for blocks in 1..=1000 {
        let filter = BloomFilter::new(BloomParams::explicit(blocks, 8).unwrap()).unwrap();
        let copy = filter.clone();
        for filter in [filter, copy] {
            assert_eq!(filter.as_bytes().as_ptr() as usize % 64, 0, "{blocks} blocks");
            assert_eq!(filter.blocks().len() as u64, blocks);
        }
    }
}

/// The same on every machine, and from an independent calculation.
#[test]
fn sizes_are_pinned() {
    let pinned = [
        (0, 0.01, 1, 1),
        (1, 0.01, 1, 1),
        (10, 0.01, 1, 2),
        (100, 0.3, 1, 1),
        (100, 0.01, 2, 5),
        (100, 0.001, 4, 5),
        (100, 0.0001, 5, 7),
        (100, 1e-6, 8, 12),
        (1_000, 0.3, 5, 2),
        (1_000, 0.01, 20, 5),
        (1_000, 0.001, 31, 8),
        (1_000, 0.0001, 44, 10),
        (1_000, 1e-6, 76, 16),
        (1_000_000, 0.3, 4932, 2),
        (1_000_000, 0.01, 19426, 6),
        (1_000_000, 0.001, 30450, 9),
        (1_000_000, 0.0001, 43070, 12),
        (1_000_000, 1e-6, 75900, 16),
        (1_000_000_000, 0.3, 4931034, 2),
        (1_000_000_000, 0.01, 19425698, 6),
        (1_000_000_000, 0.001, 30449236, 9),
        (1_000_000_000, 0.0001, 43069986, 12),
        (1_000_000_000, 1e-6, 75899372, 16),
    ];
    for (keys, fpr, blocks, probes) in pinned {
        let params = BloomParams::for_fpr(keys, fpr).unwrap();
        assert_eq!((params.num_blocks(), params.num_probes()), (blocks, probes), "{keys} keys at {fpr}");
    }
    let params = BloomParams::for_fpr(1_000_000, 0.01).unwrap();
    // To the last bit.
    assert_eq!(params.predicted_fpr().to_bits(), 0x3f84_7a8a_c27e_5b0d);
}

/// The number of probes is the one with the least predicted rate, and one block fewer would not do.
#[test]
fn the_best_shape_is_chosen() {
    for keys in [1, 7, 100, 4321, 1_000_000, 3_000_000_000] {
        for bits_per_key in [0.5, 3.0, 8.0, 13.7, 30.0, 64.0] {
            let chosen = BloomParams::for_bits_per_key(keys, bits_per_key).unwrap();
            for probes in 1..=16 {
                let other = BloomParams::explicit(chosen.num_blocks().into(), probes).unwrap().with_capacity(keys);
                assert!(chosen.predicted_fpr() <= other.predicted_fpr(), "{keys} keys, {bits_per_key} bits");
            }
        }
        for fpr in [0.9, 0.3, 0.05, 1e-3, 1e-6] {
            let chosen = BloomParams::for_fpr(keys, fpr).unwrap();
            assert!(chosen.predicted_fpr() <= fpr);
            if chosen.num_blocks() > 1 {
                for probes in 1..=16 {
                    let fewer = BloomParams::explicit(u64::from(chosen.num_blocks()) - 1, probes).unwrap();
                    assert!(fewer.with_capacity(keys).predicted_fpr() > fpr, "{keys} keys at {fpr}");
                }
            }
        }
    }
}

/// More keys or a lower rate never make a smaller filter.
#[test]
fn sizes_grow_with_what_is_asked() {
    let bytes = |keys, fpr| BloomParams::for_fpr(keys, fpr).unwrap().payload_bytes();
    for keys in (0..35).map(|log| 3 << log) {
        for fpr in [0.2, 0.01, 1e-4] {
            assert!(bytes(keys + 1, fpr) >= bytes(keys, fpr));
            assert!(bytes(keys, fpr / 2.0) >= bytes(keys, fpr));
        }
    }
}

#[test]
fn lengths_of_large_images() {
    for blocks in [1 << 26, (1 << 26) + 1, 1 << 31, MAX_BLOCKS] {
        let params = BloomParams::explicit(blocks, 8).unwrap();
        assert_eq!((params.payload_bytes(), params.image_bytes()), (64 * blocks, 64 * blocks + 64));
        assert_eq!(BloomMut::init(&mut [JUNK as u8; 128], params).err(), Some(Error::WrongLength));
    }
    assert_eq!(BloomParams::for_bytes(1, MAX_BYTES).unwrap().payload_bytes(), MAX_BYTES);
    assert_eq!(MAX_BYTES, 64 * MAX_BLOCKS);
}

/// What fits the format but not the address space is refused, and not allocated by what is left of its length.
#[test]
#[cfg(target_pointer_width = "32")]
fn beyond_the_address_space() {
    let most_bytes = isize::MAX as u64;
    for image_bytes in [most_bytes + 1, (1 << 32) - 64, 1 << 32, (1 << 32) + 128, 1 << 37, MAX_BYTES + 64] {
        let params = BloomParams::explicit(image_bytes / 64 - 1, 8).unwrap();
        assert_eq!(params.image_bytes(), image_bytes);
        assert_eq!(BloomFilter::new(params).err(), Some(Error::TooLarge), "{image_bytes} bytes");
    }
}

#[test]
fn beyond_the_limits() {
    assert_eq!(BloomParams::for_bytes(1, u64::MAX / 4), Err(Error::TooLarge));
    assert_eq!(BloomParams::for_bytes(1, u64::MAX), Err(Error::TooLarge));
    for keys in [MAX_KEYS + 1, 1 << 63, u64::MAX] {
        assert_eq!(BloomParams::for_fpr(keys, 0.01), Err(Error::TooLarge));
        assert_eq!(BloomParams::for_fpr(keys, 0.999), Err(Error::TooLarge));
        assert_eq!(BloomParams::for_bits_per_key(keys, 1.0), Err(Error::TooLarge));
        assert_eq!(BloomParams::for_bytes(keys, 64), Err(Error::TooLarge));
    }
    assert_eq!(BloomParams::for_bits_per_key(MAX_KEYS, 1.0).map(|params| params.num_blocks()), Ok(u32::MAX));
    assert_eq!(BloomParams::for_bits_per_key(MAX_KEYS, 1.001), Err(Error::TooLarge));
    assert!(BloomParams::for_bits_per_key(100, MAX_BITS_PER_KEY).is_ok());
    for blocks in [MAX_BLOCKS + 1, 1 << 58, u64::MAX / 64, u64::MAX] {
        assert_eq!(BloomParams::explicit(blocks, 8), Err(Error::TooLarge));
    }
}

/// Rates are between 0 and 1 whatever the fill, and the prediction follows the keys.
#[test]
fn rates_are_rates() {
    let params = BloomParams::explicit(1000, 8).unwrap();
    assert_eq!((params.predicted_fpr(), params.bits_per_key()), (0.0, f64::INFINITY));
    assert_eq!(params.with_capacity(u64::MAX).predicted_fpr(), 1.0);
    for fill in [0x00, 0x55, 0xff] {
        let mut payload = vec![fill; 64 * 1000];
        let filter = BloomMut::over_payload_mut(&mut payload, 8, HashScheme::NATIVE).unwrap();
        let estimate = filter.estimate();
        let share = f64::from(fill.count_ones()) / 8.0;
        assert_eq!((estimate.fill, estimate.fpr), (share, share.powi(8)));
    }
}
