# The PTD schema, version 1.0: what the two messages of a .ptd file hold, the tables of numbers that
# they use, and the limits of the format. SPEC.md is normative; the rule ids below are its own.
#
# SPDX-License-Identifier: Apache-2.0
#
# Style, for ever [EVO-4]: no unions, groups, defaults, Void, Bool, nested lists or pointers to structs. A
# discriminator is a number with a table in this file; 0 is never in a table, so an element of a
# list is never all zero, and an unlisted number is refused. A field added by a later minor version
# stands at the end of its struct, with "since 1.N" in its comment, and may be ignored by a reader that does not
# know it; what may not be ignored needs a required feature bit.
#
# How the messages are encoded is narrower than Cap'n Proto allows: see SPEC.md, "Message encoding".

@0xb1f0c6a1d8e94c7b;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("ptd::schema");

# --- Model: what ------------------------------------------------------------------------------

struct Model {
  # The whole picture of a file except where things lie. SHA-256 of this message is the model id.

  major @0 :UInt16;
  # Major version of the format, as in the header: 1. Never 0, so that the message is never empty.

  minor @1 :UInt16;
  # Minor version, as in the header.

  requiredFeatures @2 :UInt64;
  # The header's required feature bits 0 to 31, so that the model id covers them.

  contents @3 :List(Content);
  # Strictly ascending by digest. Each is used by a storage or a blob.

  storages @4 :List(Storage);
  # In order of first reference by tensors. Each is used by a tensor.

  libraries @5 :List(Library);
  # Strictly ascending by name.

  methods @6 :List(Method);
  # Strictly ascending by name.

  tensors @7 :List(Tensor);
  # Strictly ascending by (ownerKind, owner, name).

  blobs @8 :List(Blob);
  # Strictly ascending by name.

  metadata @9 :List(Pair);
  # About the file as a whole. Strictly ascending by key, as every list of pairs is.
}

struct Content {
  # A run of raw bytes. Never empty and never all zero.

  size @0 :UInt64;
  # Raw bytes, 1 to maxBytes.

  digest0 @1 :UInt64;
  digest1 @2 :UInt64;
  digest2 @3 :UInt64;
  digest3 @4 :UInt64;
  # The 32 bytes of the content digest, in order: digest0 is bytes 0 to 7 read as a little-endian integer,
  # so the digest stands in the message as it is printed.
}

struct Storage {
  # One allocation at run time.

  size @0 :UInt64;
  # Bytes, at least the content's size. What lies behind the content is zero.

  content @1 :UInt32;
  # 1 + index of the content that holds the first bytes; 0 for none.

  access @2 :UInt8;
  # See the table `accesses`.

  origin @3 :UInt8;
  # See `origins`. An external storage has no content. A stored one without content is all zero.

  placement @4 :UInt8;
  # See `placements`.
}

struct Library {
  # Compiled code, and the owner of constants that its compiler made up. Named, never identified by content:
  # two equal libraries keep their own constants.

  name @0 :Text;

  variants @1 :List(Variant);
  # Strictly ascending by (kind, sm, ptx, target). Empty if the code is not known to this file.

  metadata @2 :List(Pair);
}

struct Variant {
  # One compiled form of a library.

  blob @0 :UInt32;
  # 1 + index of the blob with the code; 0 if it is not in this file.

  kind @1 :UInt8;
  # See `variantKinds`.

  sm @2 :UInt32;
  # CUDA compute capability x 10 that it is compiled for (90 for sm_90); 0 for none.

  ptx @3 :UInt32;
  # CUDA compute capability x 10 of the PTX that it carries; 0 for none. At most sm.

  target @4 :Text;
  # Any other architecture, for example "gfx942"; null for none. Then sm and ptx are 0.
}

struct Method {
  # A name and what it binds.

  name @0 :Text;

  tensors @1 :List(UInt32);
  # Indices into Model.tensors, strictly ascending.

  libraries @2 :List(UInt32);
  # Indices into Model.libraries, strictly ascending.

  blobs @3 :List(UInt32);
  # Indices into Model.blobs, strictly ascending.

  metadata @4 :List(Pair);
}

struct Tensor {
  # A strided view into a storage, keyed by (owner, name).

  storage @0 :UInt32;
  # Index into Model.storages.

  dtype @1 :UInt16;
  # See `dtypes`.

  ownerKind @2 :UInt8;
  # See `ownerKinds`.

  storageOffset @3 :UInt64;
  # Elements from the start of the storage to element (0, ..., 0).

  owner @4 :UInt32;
  # Index of the library or method that owns the name; 0 for the model.

  name @5 :Text;
  # Fully qualified name.

  sizes @6 :List(UInt64);
  # Elements in each dimension, outermost first. Null for rank 0, which has one element.

  strides @7 :List(UInt64);
  # Elements between neighbours in each dimension; as many as sizes. Never left out.

  metadata @8 :List(Pair);

  scheme @9 :Text;
  # Block-quantised data: the name of the packing, for example "ggml.q4_k". The dtype is then uint8
  # and sizes count bytes. Null for everything else.

  logicalSizes @10 :List(UInt64);
  # With a scheme: the sizes of the tensor that the bytes stand for. Else null.
}

struct Blob {
  # Opaque named bytes: a tokenizer, a program, compiled code.

  size @0 :UInt64;
  # Bytes, at least the content's size. What lies behind the content is zero.

  content @1 :UInt32;
  # 1 + index of the content that holds the first bytes; 0 for none.

  name @2 :Text;

  mediaType @3 :Text;
  # Null if unsaid.

  metadata @4 :List(Pair);
}

struct Pair {
  # One metadata entry.

  kind @0 :UInt8;
  # See `valueKinds`.

  key @1 :Text;

  value @2 :Data;
  # Null if empty.
}

# --- Layout: where ----------------------------------------------------------------------------

struct Layout {
  # For each content its place, encoding and chunk table. Places are computed, not stored [TIL-*].

  major @0 :UInt16;
  # 1, as in the header.

  minor @1 :UInt16;
  # As in the header.

  segments @2 :List(Segment);
  # In file order; each content exactly once.
}

struct Segment {
  # The stored form of one content.

  content @0 :UInt32;
  # Index into Model.contents.

  encoding @1 :UInt8;
  # See `encodings`.

  alignmentLog2 @2 :UInt8;
  # The segment starts at a multiple of 2^alignmentLog2.

  chunkLog2 @3 :UInt8;
  # Each chunk but the last holds 2^chunkLog2 raw bytes.

  storedSize @4 :UInt64;
  # Bytes in the file; the content's size if the encoding is raw.

  tableHash @5 :UInt64;
  # XXH3-64 of the segment's chunk table.
}

# --- Tables -----------------------------------------------------------------------------------

struct DType {
  # A row of the dtype table.
  number @0 :UInt16;
  name @1 :Text;
  # PyTorch's name.
  bits @2 :UInt8;
  # Of one element. Below 8: packed, see SPEC.md "Sub-byte dtypes".
  kind @3 :UInt8;
  # 1 boolean, 2 unsigned integer, 3 signed integer, 4 floating point, 5 complex.
}

const dtypes :List(DType) = [
  (number = 1, name = "bool", bits = 8, kind = 1),
  (number = 2, name = "uint8", bits = 8, kind = 2),
  (number = 3, name = "int8", bits = 8, kind = 3),
  (number = 4, name = "uint16", bits = 16, kind = 2),
  (number = 5, name = "int16", bits = 16, kind = 3),
  (number = 6, name = "uint32", bits = 32, kind = 2),
  (number = 7, name = "int32", bits = 32, kind = 3),
  (number = 8, name = "uint64", bits = 64, kind = 2),
  (number = 9, name = "int64", bits = 64, kind = 3),
  (number = 10, name = "float16", bits = 16, kind = 4),
  (number = 11, name = "bfloat16", bits = 16, kind = 4),
  (number = 12, name = "float32", bits = 32, kind = 4),
  (number = 13, name = "float64", bits = 64, kind = 4),
  (number = 14, name = "complex32", bits = 32, kind = 5),
  (number = 15, name = "complex64", bits = 64, kind = 5),
  (number = 16, name = "complex128", bits = 128, kind = 5),
  (number = 17, name = "float8_e4m3fn", bits = 8, kind = 4),
  (number = 18, name = "float8_e5m2", bits = 8, kind = 4),
  (number = 19, name = "float8_e4m3fnuz", bits = 8, kind = 4),
  (number = 20, name = "float8_e5m2fnuz", bits = 8, kind = 4),
  (number = 21, name = "float8_e8m0fnu", bits = 8, kind = 4),
  (number = 22, name = "float4_e2m1fn", bits = 4, kind = 4),
  (number = 23, name = "float6_e2m3fn", bits = 6, kind = 4),
  (number = 24, name = "float6_e3m2fn", bits = 6, kind = 4),
  (number = 25, name = "uint1", bits = 1, kind = 2),
  (number = 26, name = "uint2", bits = 2, kind = 2),
  (number = 27, name = "uint3", bits = 3, kind = 2),
  (number = 28, name = "uint4", bits = 4, kind = 2),
  (number = 29, name = "uint5", bits = 5, kind = 2),
  (number = 30, name = "uint6", bits = 6, kind = 2),
  (number = 31, name = "uint7", bits = 7, kind = 2),
  (number = 32, name = "int1", bits = 1, kind = 3),
  (number = 33, name = "int2", bits = 2, kind = 3),
  (number = 34, name = "int3", bits = 3, kind = 3),
  (number = 35, name = "int4", bits = 4, kind = 3),
  (number = 36, name = "int5", bits = 5, kind = 3),
  (number = 37, name = "int6", bits = 6, kind = 3),
  (number = 38, name = "int7", bits = 7, kind = 3),
];

struct Encoding {
  # A row of the encoding table.
  number @0 :UInt8;
  name @1 :Text;
  planeWidth @2 :UInt8;
  # Bytes of an element for the byte-plane split, 1 for no split. The raw size is a multiple of it.
  rotated @3 :UInt8;
  # 1 if each element's sign bit is rotated to its low end before the split.
}

const encodings :List(Encoding) = [
  (number = 1, name = "raw", planeWidth = 1, rotated = 0),
  (number = 2, name = "zstd", planeWidth = 1, rotated = 0),
  (number = 3, name = "zstd-planes2", planeWidth = 2, rotated = 0),
  (number = 4, name = "zstd-planes4", planeWidth = 4, rotated = 0),
  (number = 5, name = "zstd-planes8", planeWidth = 8, rotated = 0),
  (number = 6, name = "zstd-rotated2", planeWidth = 2, rotated = 1),
  (number = 7, name = "zstd-rotated4", planeWidth = 4, rotated = 1),
  (number = 8, name = "zstd-rotated8", planeWidth = 8, rotated = 1),
];

struct Named {
  # A row of the smaller tables.
  number @0 :UInt8;
  name @1 :Text;
}

const accesses :List(Named) = [(number = 1, name = "immutable"), (number = 2, name = "mutable")];
# An immutable storage may share memory with any other of equal bytes; a mutable one never does.

const origins :List(Named) = [(number = 1, name = "stored"), (number = 2, name = "external")];
# Stored: the content, then zeros. External: supplied by whoever loads the model.

const placements :List(Named) = [(number = 1, name = "any"), (number = 2, name = "host"), (number = 3, name = "device")];
# Where a storage is meant to live: the runtime's choice, CPU memory, the accelerator that runs the method.

const variantKinds :List(Named) = [(number = 1, name = "regular"), (number = 2, name = "fallback")];
# A fallback variant is used, through its PTX, only where no regular one fits.

const ownerKinds :List(Named) = [(number = 1, name = "model"), (number = 2, name = "library"), (number = 3, name = "method")];

const valueKinds :List(Named) = [(number = 1, name = "text"), (number = 2, name = "bytes"), (number = 3, name = "json")];
# Text and json are valid UTF-8; readers do not parse the json.

# --- Limits -----------------------------------------------------------------------------------

const maxMessageBytes :UInt64 = 1073741824;
# 2^30, of the model and of the layout, each. A reader checks it before it allocates the message.
const requiredMessageBytes :UInt64 = 536870912;
# 2^29. Every reader takes messages up to here; writers stay below it unless told otherwise.
const maxFileBytes :UInt64 = 9223372036854775807;
# 2^63 - 1.
const maxListDepth :UInt64 = 4;
# Lists of structs inside lists of structs, in a message.
const maxTensors :UInt64 = 4194304;
const maxStorages :UInt64 = 4194304;
const maxContents :UInt64 = 4194304;
const maxMethods :UInt64 = 4096;
const maxLibraries :UInt64 = 4096;
const maxVariants :UInt64 = 256;
# Of one library.
const maxBlobs :UInt64 = 65536;
const maxRank :UInt64 = 64;
const maxNameBytes :UInt64 = 1024;
# Of a name, a metadata key, a scheme, a target or a media type.
const maxPairs :UInt64 = 1048576;
# Metadata pairs of a file, all lists together.
const maxValueBytes :UInt64 = 16777216;
# Of one metadata value.
const maxBytes :UInt64 = 1152921504606846976;
# 2^60, of a content, a storage, a blob, and of a tensor's logical bytes: so that counts of bits fit 63 bits.
const minChunkLog2 :UInt8 = 14;
const maxChunkLog2 :UInt8 = 24;
const minAlignmentLog2 :UInt8 = 6;
const maxAlignmentLog2 :UInt8 = 16;

const leafBytes :UInt64 = 8192;
# Raw bytes of each leaf of a content digest, but the last.
const maxBlockBytes :UInt64 = 131072;
# Of a block of a zstd frame, coded or decoded.
