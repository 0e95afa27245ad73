"""Version and limits of the format; FORMAT.md has the same numbers."""

FORMAT_VERSION = 1

#: A payload must stay far below 256 MiB, because TensorBoard's data server refuses larger answers.
MAX_PAYLOAD_BYTES = 192 * 2**20
#: The size of a payload that is one zlib stream, after decompression.
MAX_MESSAGE_BYTES = 64 * 2**20
#: The size of all numbers of one chunk, after decompression.
MAX_CHUNK_BYTES = 512 * 2**20

MAX_HEADER_BYTES = 256
MAX_TEXT_BYTES = 2**16
MAX_TAG_BYTES = 1024
#: The sum of a graph's nodes, slots, edges, scopes, sizes, aliases and texts.
MAX_GRAPH_ENTRIES = 2_000_000
#: The sum of a graph's slots and edges, which limits the rows of a segment.
MAX_ROWS = 1_000_000
#: The records of a segment times its rows.
MAX_NUMBERS = 2**26
#: The same for all segments of a chunk.
MAX_RECORDS = 2**16
MAX_SEGMENTS = 2**12
MAX_COLUMNS = 64
MAX_WHOLE = 2**20
MAX_RANK = 64
#: The quantities of a chunk and of a run, with the missing ones, and the bytes of the name of one.
MAX_QUANTITIES = 2**18
MAX_RUN_QUANTITIES = 2**22
MAX_QUANTITY_NAME_BYTES = 1024
#: The numbers of a chunk's and of a run's own statistics, and the names of a chunk's segments. In a
#: run, each name counts as a quantity of each record of its segment.
MAX_OWN = 2**20
MAX_RUN_OWN = 2**22
MAX_OWN_NAMES = 2**14
#: The trainings whose facts a chunk holds, and the entries of these: groups, settings and names.
MAX_FACTS = 2**10
MAX_FACT_ENTRIES = 2**18
#: The letters of all texts of a chunk or of a graph, each text counted as often as it is used; and
#: those of a run, without names of quantities and reasons of rows that were not read.
MAX_LETTERS = 2**28
MAX_RUN_LETTERS = 2**28
#: How many records of one run a reader lists.
MAX_RUN_RECORDS = 2**20
#: How many bytes of whole tensors ``read_logdir`` returns for one run.
MAX_RUN_WHOLE_BYTES = 2**30
