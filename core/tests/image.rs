//! The image: golden bytes, what is refused and why, the life of a seal, and what is allocated.

#[path = "common/allocations.rs"]
mod allocations;
mod common;

use allocations::peak;
use common::{Guarded, JUNK, Random, for_every_isa, resealed};
use sketchline::{
    Bloom, BloomFilter, BloomMut, BloomParams, BloomRef, Error, HashScheme, Hashes, KeyHash, Lines, LinesMut,
    OpenOptions, U64Keys,
};

const STRICT: OpenOptions = OpenOptions::STRICT;
const UNSEALED: OpenOptions = OpenOptions::STRICT.allow_unsealed();

fn params(blocks: u64, probes: u32) -> BloomParams {
    BloomParams::explicit(blocks, probes).unwrap()
}

/// A sealed image of the numbers below `keys`.
fn sealed(params: BloomParams, keys: u64) -> Vec<u8> {
    let mut filter = BloomFilter::new(params).unwrap();
    (0..keys).for_each(|key| filter.insert_hash(KeyHash::of_u64(key, params.hashing().seed_or_tag())));
    filter.seal().unwrap().to_vec()
}

// Golden images.

enum Keys {
    Bytes(Vec<Vec<u8>>),
    Hashes(Vec<u64>),
}

struct Golden {
    path: String,
    params: BloomParams,
    keys: Keys,
}

fn golden() -> Vec<Golden> {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/");
    let list = std::fs::read_to_string(format!("{data}images.txt")).unwrap();
    let parse = |line: &str| {
        let [file, blocks, probes, hash, seed, capacity, form, numbers @ ..] =
            &line.split_whitespace().collect::<Vec<_>>()[..]
        else {
            panic!("{line}")
        };
        let number = |text: &&str| text.parse::<u64>().unwrap();
        let hashing = match *hash {
            "xxh3" => HashScheme::Xxh3 { seed: number(seed) },
            "caller" => HashScheme::Caller { tag: number(seed) },
            _ => panic!("{line}"),
        };
        let numbers: Vec<u64> = numbers.iter().map(number).collect();
        let keys = match *form {
            "numbers" => Keys::Bytes((0..numbers[0]).map(|key| key.to_le_bytes().to_vec()).collect()),
            "prefixes" => Keys::Bytes(numbers.iter().map(|&len| (0..len).map(|i| i as u8).collect()).collect()),
            "hashes" => Keys::Hashes(Random(0).hashes(numbers[0] as usize)),
            _ => panic!("{line}"),
        };
        let params = params(number(blocks), number(probes) as u32).with_hashing(hashing);
        Golden { path: format!("{data}{file}"), params: params.with_capacity(number(capacity)), keys }
    };
    list.lines().filter(|line| !line.starts_with('#')).map(parse).collect()
}

/// A changed byte is a change of the format, and needs a new version. `SKETCHLINE_BLESS=1` writes the files.
#[test]
fn golden_images() {
    for_every_isa(|isa| {
        for Golden { path, params, keys } in golden() {
            let mut filter = BloomFilter::new(params).unwrap().with_isa(isa);
            match &keys {
                Keys::Bytes(keys) => keys.iter().for_each(|key| filter.insert(key).unwrap()),
                Keys::Hashes(hashes) => filter.insert_hashes(hashes),
            }
            let built = filter.seal().unwrap();
            if std::env::var_os("SKETCHLINE_BLESS").is_some() {
                std::fs::write(&path, built).unwrap();
            }
            let stored = std::fs::read(&path).unwrap();
            assert!(built == stored, "{path} on {isa:?}");

            let view = BloomRef::open(&stored, STRICT).unwrap().with_isa(isa);
            assert_eq!(view.params(), params);
            match &keys {
                Keys::Bytes(keys) => assert!(keys.iter().all(|key| view.contains(key) == Ok(true))),
                Keys::Hashes(hashes) => assert_eq!(view.count_batch(&Hashes(hashes)), Ok(hashes.len())),
            }
        }
    });
}

/// Sizes, hash, probes and bytes in one: a filter as it comes out, and the first numbers that it takes for its keys.
#[test]
fn first_false_positives() {
    let mut filter = BloomFilter::new(BloomParams::for_fpr(1000, 0.01).unwrap()).unwrap();
    filter.insert_batch(&U64Keys(&(0..1000).collect::<Vec<_>>())).unwrap();
    let first: Vec<u64> = (1000..).filter(|&key| filter.contains_u64(key).unwrap()).take(10).collect();
    assert_eq!(first, [1118, 1313, 1422, 1481, 1510, 1636, 1692, 1693, 1705, 1776]);
    assert_eq!(KeyHash::of(filter.seal().unwrap(), 0).raw(), 0xa245_7929_e50b_7f88);
}

// What is refused.

/// Every documented field of a header: offset and bytes.
const FIELDS: [(usize, usize); 16] = [
    (0, 4),
    (4, 1),
    (5, 1),
    (6, 1),
    (7, 1),
    (8, 8),
    (16, 8),
    (24, 8),
    (32, 4),
    (36, 1),
    (37, 1),
    (38, 1),
    (39, 1),
    (40, 8),
    (48, 8),
    (56, 8),
];

fn field(image: &[u8], (at, len): (usize, usize)) -> u64 {
    image[at..at + len].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn with_field(image: &[u8], (at, len): (usize, usize), value: u64) -> Vec<u8> {
    let mut image = image.to_vec();
    image[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
    image
}

/// Every field at 0, 1, its maximum, and one off.
fn hostile_headers(image: &[u8]) -> Vec<Vec<u8>> {
    let values = |at| [0, 1, u64::MAX, field(image, at).wrapping_add(1), field(image, at).wrapping_sub(1)];
    let all = FIELDS.into_iter().flat_map(|at| values(at).map(|value| with_field(image, at, value)));
    all.filter(|changed| changed != image).collect()
}

/// Whatever could be opened behaves like a filter of the shape it states.
fn assert_consistent(image: &[u8], filter: &BloomRef<'_>) {
    let params = filter.params();
    assert_eq!(params.image_bytes(), image.len() as u64);
    assert!((1..=16).contains(&params.num_probes()));
    assert!((0.0..=1.0).contains(&params.predicted_fpr()));
    let estimate = filter.estimate();
    assert!((0.0..=1.0).contains(&estimate.fill) && (0.0..=1.0).contains(&estimate.fpr) && estimate.num_keys >= 0.0);
    let mut copy = BloomFilter::from_image(image, UNSEALED).unwrap();
    let hashes = Random(1).hashes(100);
    assert_eq!(copy.count_batch(&Hashes(&hashes)), filter.count_batch(&Hashes(&hashes)));
    copy.insert_hashes(&hashes);
    assert_eq!(copy.count_batch(&Hashes(&hashes)), Ok(100));
    let sealed = copy.seal().unwrap().to_vec();
    assert_eq!(BloomRef::open(&sealed, STRICT).unwrap().params(), params);
}

#[test]
fn every_prefix_is_refused() {
    let image = sealed(params(3, 8).with_capacity(30), 30);
    for len in 0..image.len() {
        for options in [STRICT, STRICT.skip_payload_check(), UNSEALED] {
            assert_eq!(BloomRef::open(&image[..len], options).err(), Some(Error::WrongLength), "{len} bytes");
            assert_eq!(BloomFilter::from_image(&image[..len], options).err(), Some(Error::WrongLength));
        }
    }
    for more in [1, 63, 64, 128] {
        let longer = [&image[..], &vec![0; more]].concat();
        assert_eq!(BloomRef::open(&longer, STRICT).err(), Some(Error::WrongLength), "{more} bytes more");
    }
}

#[test]
fn every_flipped_bit_is_an_error() {
    for Golden { path, .. } in golden() {
        let mut image = std::fs::read(&path).unwrap();
        let len = image.len();
        for bit in 0..8 * len {
            image[bit / 8] ^= 1 << (bit % 8);
            let error = BloomRef::open(&image, STRICT).err();
            assert!(error.is_some(), "{path}, bit {bit}");
            assert_eq!(error == Some(Error::PayloadChecksum), bit >= 512, "{path}, bit {bit}: {error:?}");
            // A cleared seal does not make an image an unsealed one.
            assert!(BloomRef::open(&image, UNSEALED).is_err(), "{path}, bit {bit}");
            image[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(BloomRef::open(&image, STRICT).is_ok());
    }
}

#[test]
fn every_hostile_field() {
    for hashing in [HashScheme::NATIVE, HashScheme::Xxh3 { seed: 5 }, HashScheme::Caller { tag: 5 }] {
        let params = params(3, 8).with_capacity(30).with_hashing(hashing);
        for image in hostile_headers(&sealed(params, 30)) {
            for options in [STRICT, STRICT.skip_payload_check(), UNSEALED, UNSEALED.skip_payload_check()] {
                // Only the payload's checksum may be wrong where it is not looked at.
                assert!(BloomRef::open(&image, options).is_err());
            }
            // With right checksums: an error, or a filter.
            let image = resealed(image);
            if let Ok(filter) = BloomRef::open(&image, UNSEALED) {
                assert_consistent(&image, &filter);
            }
        }
        let unsealed = BloomFilter::new(params).unwrap();
        for image in hostile_headers(unsealed.as_bytes()) {
            assert!(BloomRef::open(&image, STRICT).is_err());
            if let Ok(filter) = BloomRef::open(&image, UNSEALED) {
                assert_consistent(&image, &filter);
            }
        }
    }
}

/// Right checksums around a wrong header: the error says what is wrong.
#[test]
fn every_error_says_which() {
    let image = sealed(params(3, 8).with_capacity(30), 30);
    let open =
        |at, value| BloomRef::open(&resealed(with_field(&image, at, value)), STRICT).map(|filter| filter.params());
    let (max32, max64) = (u64::from(u32::MAX), u64::MAX);
    let wrong: [((usize, usize), &[u64], Error); 14] = [
        ((0, 4), &[0, 1, max32, 0x4e4c_4b54, 0x534b_4c4e], Error::BadMagic),
        ((4, 1), &[0, 2, 3, 4, 5, 6, 7, 8, 255], Error::WrongKind),
        ((5, 1), &[0, 2, 255], Error::UnsupportedVersion),
        ((6, 1), &[2, 3, 0x81, 255], Error::UnknownFlag),
        ((6, 1), &[0], Error::HeaderChecksum),
        ((7, 1), &[0, 3, 4, 5, 6, 255], Error::UnknownHash),
        ((16, 8), &[0, 1, 64, 128, 191, 193, 256, max64, 1 << 38], Error::WrongLength),
        ((32, 4), &[0, 1, 2, 4, max32, 1 << 31], Error::BadParameter),
        ((36, 1), &[0, 17, 33, 255], Error::BadParameter),
        ((36, 2), &[0x0108], Error::UnknownFlag),
        ((37, 1), &[1, 0x80, 255], Error::UnknownFlag),
        ((38, 1), &[1, 0x80, 255], Error::UnknownFlag),
        ((39, 1), &[1, 0x80, 255], Error::UnknownFlag),
        ((36, 4), &[max32], Error::UnknownFlag),
    ];
    for (at, values, error) in wrong {
        for &value in values {
            assert_eq!(open(at, value), Err(error), "{value:#x} at {at:?}");
        }
    }
    // All that may differ, and then does.
    assert_eq!(open((7, 1), 2).unwrap().hashing(), HashScheme::Caller { tag: 0 });
    assert_eq!(open((8, 8), max64).unwrap().hashing(), HashScheme::Xxh3 { seed: max64 });
    assert_eq!(open((36, 1), 16).unwrap().num_probes(), 16);
    assert_eq!(open((40, 8), max64).unwrap().capacity(), max64);

    // A flag alone does not unseal: both checksums must be 0.
    let fresh = BloomFilter::new(params(3, 8)).unwrap();
    for checksum in [(48, 8), (56, 8)] {
        for value in [1, 1 << 63] {
            let image = with_field(fresh.as_bytes(), checksum, value);
            assert_eq!(BloomRef::open(&image, UNSEALED).err(), Some(Error::HeaderChecksum));
        }
    }

    // No blocks at all, in every field that tells.
    let none = with_field(&with_field(&image[..64], (16, 8), 0), (32, 4), 0);
    assert_eq!(BloomRef::open(&resealed(none), STRICT).err(), Some(Error::BadParameter));
    // Each checksum by itself.
    let payload = with_field(&image, (64, 1), !field(&image, (64, 1)) & 0xff);
    assert_eq!(BloomRef::open(&payload, STRICT).err(), Some(Error::PayloadChecksum));
    assert!(BloomRef::open(&payload, STRICT.skip_payload_check()).is_ok());
    let header = with_field(&image, (24, 8), 31);
    assert_eq!(BloomRef::open(&header, STRICT.skip_payload_check()).err(), Some(Error::HeaderChecksum));
    // Another seed under a seal of its own is another filter.
    let other = resealed(with_field(&image, (8, 8), 1));
    let mut filter = BloomFilter::from_image(&image, STRICT).unwrap();
    assert_eq!(filter.union(&BloomRef::open(&other, STRICT).unwrap()), Err(Error::Incompatible));
}

#[test]
fn a_view_that_is_off_by_a_byte() {
    let image = sealed(params(3, 8), 30);
    let page = [&[0x53; 100][..], &image, &[0; 100]].concat();
    let view = |at: usize| BloomRef::open(&page[at..at + image.len()], STRICT);
    assert!((0..30).all(|key| view(100).unwrap().contains_u64(key) == Ok(true)));
    assert_eq!(view(99).err(), Some(Error::BadMagic));
    assert_eq!(view(101).err(), Some(Error::BadMagic));
}

#[test]
fn bare_payloads() {
    let image = sealed(params(3, 8), 30);
    let mut payload = image[64..].to_vec();
    let over = |len: usize, probes| BloomRef::over_payload(&image[..len], probes, HashScheme::NATIVE).err();
    for len in [0, 1, 63, 65, 127] {
        assert_eq!(over(len, 8), Some(Error::WrongLength));
    }
    for probes in [0, 17, 33, 255, u32::MAX] {
        assert_eq!(over(64, probes), Some(Error::InvalidArgument));
    }
    let mut filter = BloomMut::over_payload_mut(&mut payload, 8, HashScheme::NATIVE).unwrap();
    assert!((0..30).all(|key| filter.contains_u64(key) == Ok(true)));
    assert_eq!((filter.params().num_blocks(), filter.params().capacity()), (3, 0));
    assert_eq!(filter.seal().err(), Some(Error::NoHeader));
    filter.insert_u64(30).unwrap();
    assert_eq!((filter.state().num_inserted(), filter.state().is_sealed()), (None, false));
    assert_eq!(payload, sealed(params(3, 8), 31)[64..]);
}

#[test]
fn lines_and_state_that_do_not_belong_together() {
    let filter = BloomFilter::new(params(3, 8)).unwrap();
    let lines = [[0; 64]; 5];
    for len in 0..=5 {
        assert_eq!(Bloom::attach(&lines[..len], *filter.state()).err(), (len != 4).then_some(Error::WrongLength));
    }
    let mut memory = [JUNK as u8; 256];
    for len in 0..256 {
        assert_eq!(BloomMut::init(&mut memory[..len], params(3, 8)).err(), Some(Error::WrongLength));
    }
    assert_eq!(memory, [JUNK as u8; 256]);
}

// The life of a seal.

type Change = fn(&mut BloomFilter);

const CHANGES: [Change; 9] = [
    |filter| filter.insert(b"key").unwrap(),
    |filter| filter.insert_u64(1).unwrap(),
    |filter| filter.insert_hash(KeyHash::from_raw(1)),
    |filter| filter.insert_hashes(&[1]),
    |filter| filter.insert_batch(&U64Keys(&[1])).unwrap(),
    |filter| filter.insert_batch_seen(&U64Keys(&[1]), &mut [0]).unwrap(),
    |filter| filter.union(&filter.clone()).unwrap(),
    |filter| filter.intersect(&filter.clone()).unwrap(),
    |filter| filter.clear(),
];

#[test]
fn a_change_takes_the_seal_off() {
    let image = sealed(params(3, 8).with_capacity(30).with_hashing(HashScheme::Xxh3 { seed: 3 }), 30);
    for (i, change) in CHANGES.iter().enumerate() {
        let mut filter = BloomFilter::from_image(&image, STRICT).unwrap();
        assert!(filter.state().is_sealed() && filter.as_bytes() == image);
        change(&mut filter);
        // Flag, count and checksums are 0, all other fields as they were.
        let mut header = image[..64].to_vec();
        header[6] = 0;
        header[24..32].fill(0);
        header[48..].fill(0);
        assert!(filter.as_bytes()[..64] == header && !filter.state().is_sealed(), "change {i}");
        assert_eq!(BloomRef::open(filter.as_bytes(), STRICT).err(), Some(Error::Unsealed), "change {i}");
        assert!(BloomRef::open(filter.as_bytes(), UNSEALED).is_ok(), "change {i}");

        let once = filter.seal().unwrap().to_vec();
        assert!(BloomRef::open(&once, STRICT).is_ok() && filter.state().is_sealed());
        assert!(filter.seal().unwrap() == once, "sealed twice, change {i}");
    }
}

#[test]
fn reading_changes_nothing() {
    let image = sealed(params(3, 8), 30);
    let mut memory = image.clone();
    let filter = BloomMut::open_mut(&mut memory, STRICT).unwrap();
    assert_eq!(filter.contains(b"key"), Ok(false));
    filter.count_batch(&U64Keys(&[1, 2])).unwrap();
    filter.contains_batch(&U64Keys(&[1, 2]), &mut [0]).unwrap();
    filter.estimate();
    assert!(filter.state().is_sealed());
    assert!(memory == image);

    let broken = with_field(&image, (64, 1), 0xff ^ field(&image, (64, 1)));
    let mut memory = broken.clone();
    assert!(BloomMut::open_mut(&mut memory, STRICT).is_err());
    assert!(memory == broken);
}

#[test]
fn sealing_between_inserts_leaves_no_trace() {
    let mut often = BloomFilter::new(params(3, 8)).unwrap();
    for key in 0..30 {
        often.insert_u64(key).unwrap();
        often.seal().unwrap();
        often = BloomFilter::from_image(often.as_bytes(), STRICT).unwrap();
    }
    assert!(often.as_bytes() == sealed(params(3, 8), 30));
}

#[test]
fn in_place_is_the_same_image() {
    for offset in 0..64 {
        let mut guarded = Guarded::new(4 * 64, offset);
        guarded.bytes().fill(0xff);
        let mut filter = BloomMut::init(guarded.bytes(), params(3, 8)).unwrap();
        assert!(filter.as_bytes() == BloomFilter::new(params(3, 8)).unwrap().as_bytes());
        (0..30).for_each(|key| filter.insert_u64(key).unwrap());
        filter.seal().unwrap();
        assert!(guarded.checked() == sealed(params(3, 8), 30));

        let mut filter = BloomMut::open_mut(guarded.bytes(), STRICT).unwrap();
        filter.insert_u64(30).unwrap();
        filter.seal().unwrap();
        assert!(guarded.checked() == sealed(params(3, 8), 31));
        assert!(BloomRef::open(guarded.checked(), STRICT).is_ok());
    }
}

#[test]
fn inserts_leave_the_header_alone() {
    let params = params(100, 8);
    let mut memory = vec![0; params.image_bytes() as usize];
    let mut filter = BloomMut::init(&mut memory, params).unwrap();
    let header = filter.as_bytes()[..64].to_vec();
    for key in 0..100_000 {
        filter.insert_u64(key).unwrap();
    }
    filter.insert_hashes(&common::EXTREME);
    assert_eq!(filter.as_bytes()[..64], header);
}

#[test]
fn number_of_inserts() {
    let count = |filter: &BloomFilter| filter.state().num_inserted();
    let mut filter = BloomFilter::new(params(3, 8)).unwrap();
    assert_eq!(count(&filter), Some(0));
    filter.insert(b"twice").unwrap();
    filter.insert(b"twice").unwrap();
    filter.insert_batch(&U64Keys(&[1, 2, 3])).unwrap();
    filter.insert_batch_seen(&Hashes(&[1, 2]), &mut [0]).unwrap();
    filter.insert_hashes(&[7]);
    assert_eq!(count(&filter), Some(8));
    let image = filter.seal().unwrap().to_vec();
    assert_eq!(field(&image, (24, 8)), 8);
    let mut opened = BloomFilter::from_image(&image, STRICT).unwrap();
    assert_eq!(count(&opened), Some(8));
    opened.insert_u64(1).unwrap();
    assert_eq!(count(&opened), Some(9));

    // Unknown after union, also with nothing, until the next clear; unknown in what was not sealed.
    let empty = BloomFilter::new(params(3, 8)).unwrap();
    let before = filter.blocks().to_vec();
    filter.union(&empty).unwrap();
    assert!(filter.blocks() == before);
    filter.insert_u64(5).unwrap();
    assert_eq!(count(&filter), None);
    assert_eq!(field(filter.seal().unwrap(), (24, 8)), 0);
    assert_eq!(count(&BloomFilter::from_image(filter.as_bytes(), STRICT).unwrap()), None);
    filter.clear();
    assert_eq!(count(&filter), Some(0));
    filter.intersect(&empty).unwrap();
    assert_eq!(count(&filter), None);
    assert_eq!(count(&BloomFilter::from_image(empty.as_bytes(), UNSEALED).unwrap()), None);
}

/// Whatever can be made can be sealed, opened and sealed again, to the same bytes.
#[test]
fn every_reachable_filter_can_be_opened() {
    for probes in 1..=16 {
        for blocks in [1, 2, 3, 64, 1000] {
            for hashing in [HashScheme::NATIVE, HashScheme::Xxh3 { seed: u64::MAX }, HashScheme::Caller { tag: 0 }] {
                for (capacity, keys) in [(0, 0), (1, 1), (u64::MAX, 100), (100, 20_000)] {
                    let params = params(blocks, probes).with_capacity(capacity).with_hashing(hashing);
                    let image = sealed(params, keys);
                    let mut opened = BloomFilter::from_image(&image, STRICT).unwrap();
                    assert_eq!(opened.params(), params);
                    assert_consistent(&image, &opened.view());
                    assert!(opened.seal().unwrap() == image);
                    assert_eq!(Bloom::attach(opened.view().blocks(), *opened.state()).err(), Some(Error::WrongLength));
                }
            }
        }
    }
}

#[test]
fn filters_may_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<BloomFilter>();
    shared::<BloomRef<'_>>();
    shared::<BloomMut<'_>>();
}

// What is allocated.

#[test]
fn opening_hostile_bytes_allocates_nothing() {
    let image = sealed(params(3, 8), 30);
    let mut hostile = hostile_headers(&image);
    hostile.extend(hostile_headers(&image).into_iter().map(resealed));
    hostile.extend((0..image.len()).map(|len| image[..len].to_vec()));
    let huge = with_field(&with_field(&image, (16, 8), 64 * 0xffff_ffff), (32, 4), 0xffff_ffff);
    hostile.extend([resealed(huge.clone()), huge]);
    for image in hostile {
        for options in [STRICT, UNSEALED.skip_payload_check()] {
            let (opened, bytes) = peak(|| BloomFilter::from_image(&image, options).is_ok());
            assert!(bytes <= if opened { image.len() as isize + 4096 } else { 0 }, "{bytes} for {} bytes", image.len());
            assert_eq!(peak(|| BloomRef::open(&image, options).is_ok()).1, 0);
        }
    }
}

/// A length that is right but for 4 GiB, which 32 bits do not hold.
#[test]
fn lengths_do_not_wrap() {
    let image = sealed(params(3, 8), 30);
    for wraps in [1, 2, 63] {
        let longer = with_field(&image, (16, 8), field(&image, (16, 8)) + (wraps << 32));
        let larger = with_field(&longer, (32, 4), field(&image, (32, 4)) + (wraps << 26));
        for image in [longer, larger] {
            assert_eq!(BloomRef::open(&resealed(image.clone()), STRICT).err(), Some(Error::WrongLength));
            assert_eq!(BloomFilter::from_image(&resealed(image), UNSEALED).err(), Some(Error::WrongLength));
        }
    }
}

#[test]
fn sizes_beyond_reason_allocate_nothing() {
    let too_large = peak(|| BloomParams::for_fpr(1_000_000_000_000_000_000, 0.01));
    assert_eq!(too_large, (Err(Error::TooLarge), 0));
}

#[test]
fn only_new_filters_allocate() {
    fn work<S: Lines + LinesMut>(filter: &mut Bloom<S>, other: &BloomFilter) {
        for key in 0..1000 {
            filter.insert_u64(key).unwrap();
            assert_eq!(filter.contains_u64(key), Ok(true));
        }
        filter.insert_batch(&U64Keys(&[1; 1000])).unwrap();
        filter.insert_batch_seen(&U64Keys(&[1; 1000]), &mut [0; 16]).unwrap();
        filter.contains_batch(&U64Keys(&[1; 1000]), &mut [0; 16]).unwrap();
        filter.select_batch(&U64Keys(&[1; 1000]), &mut [0; 1000]).unwrap();
        filter.select_in_place(&U64Keys(&[1; 1000]), &mut [5; 1000]).unwrap();
        filter.union(other).unwrap();
        filter.intersect(other).unwrap();
        filter.estimate();
        filter.clear();
        filter.seal().unwrap();
    }
    let other = BloomFilter::new(params(3, 8)).unwrap();
    let mut filter = other.clone();
    assert_eq!(peak(|| work(&mut filter, &other)).1, 0);
    let mut memory = vec![0; 256];
    assert_eq!(peak(|| work(&mut BloomMut::init(&mut memory, params(3, 8)).unwrap(), &other)).1, 0);
}
