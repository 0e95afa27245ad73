"""Version and limits of the stored form; FORMAT.md states the same numbers."""

FORMAT_VERSION = 1

#: TensorBoard's data server refuses answers above 256 MiB, so no payload may come near it.
MAX_PAYLOAD_BYTES = 192 * 2**20
#: Of one zlib stream after decompression; a longer one is cut off there and refused.
MAX_UNCOMPRESSED_BYTES = 512 * 2**20

MAX_HEADER_BYTES = 256
MAX_TEXT_BYTES = 2**16
MAX_TAG_BYTES = 1024
MAX_STRINGS = 2**24
MAX_ROWS = 2**24
MAX_RECORDS = 2**16
MAX_SEGMENTS = 2**12
MAX_RANK = 64
