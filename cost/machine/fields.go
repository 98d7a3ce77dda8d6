package machine

import "tensortapestry.org/tapc/dialects/schedule"

// fields visits the fields of a part of a file, in their order. The reader, the writer and the schema are its implementations.
type fields interface {
	Text(key field, v *string, words ...string) // one of the words, if there are some
	Count(key field, v *int64, unit Unit)       // a whole number, of a unit if it is not Part
	Figure(key field, v *Figure, unit Unit)
	List(key field, n int, grow func(n int), at func(i int, f fields))
}

// field is a key of a file.
type field struct {
	key, doc string
	must     bool // it can't be left out
}

func list[T any](f fields, key field, v *[]T, each func(*T, fields)) {
	f.List(key, len(*v), func(n int) { *v = make([]T, n) }, func(i int, f fields) { each(&(*v)[i], f) })
}

func (m *Machine) fields(f fields) {
	f.Text(field{"tapc", "the format of the file", true}, &m.Format, Format)
	f.Text(field{"name", "what the machine is called", true}, &m.Name)
	f.Text(field{"doc", "one sentence", false}, &m.Doc)
	f.Text(field{"source", "where figures without a source of their own are from", false}, &m.Source)
	list(f, field{"devices", "the kinds of devices", true}, &m.Devices, (*Device).fields)
	list(f, field{"links", "the kinds of links", false}, &m.Links, (*Link).fields)
	list(f, field{"localities", "what is where; the first is the whole machine, and is one of the first device if there is none", false}, &m.Localities, (*Locality).fields)
}

func (d *Device) fields(f fields) {
	f.Text(field{"name", "what the kind of device is called", true}, &d.Name)
	f.Text(field{"kind", "what it is to a schedule", true}, &d.Kind, schedule.DeviceWords()...)
	f.Text(field{"target", "of the configs that kernels for it have, such as cpu_v32_r16_l512k (bytes of a vector, vector registers, second cache) or sm_80; what is decided for without a machine if it is left out", false}, &d.Target)
	f.Text(field{"source", "where its figures are from", false}, &d.Source)
	f.Count(field{"units", "cores or multiprocessors", true}, &d.Units, Part)
	f.Count(field{"memory", "size of its memory", true}, &d.Memory, Bytes)
	f.Figure(field{"bandwidth", "of its memory, all units together", true}, &d.Bandwidth, BytesASecond)
	f.Figure(field{"unit-bandwidth", "of its memory, one unit alone", false}, &d.UnitBandwidth, BytesASecond)
	f.Figure(field{"read", "of its memory, all units together, where nothing is written; the bandwidth if it is left out", false}, &d.Read, BytesASecond)
	f.Figure(field{"unit-read", "the same of one unit alone", false}, &d.UnitRead, BytesASecond)
	f.Figure(field{"launch", "time from one kernel to the next", true}, &d.Launch, Seconds)
	f.Figure(field{"region", "time more for a kernel that all units share", false}, &d.Region, Seconds)
	f.Figure(field{"power", "while it works", false}, &d.Power.Busy, Watts)
	f.Figure(field{"idle", "while it does not", false}, &d.Power.Idle, Watts)
	list(f, field{"caches", "the nearest first", false}, &d.Caches, (*Cache).fields)
	list(f, field{"rates", "what it does in a second", true}, &d.Rates, (*Rate).fields)
}

// Rows are the classes of instructions and of kernels that rates are given for.
var Rows = []string{
	"fma",       // products of matrices, one product of a lane at a time
	"result",    // results of these, which a register tile begins and writes, for each part of their sums; they take nothing if it is left out
	"mma",       // products of matrices in the matrix unit of a GPU
	"amx",       // the rows of micro-kernels for products of bytes and of bfloat16
	"vnni",      //
	"vexvnni",   //
	"bf16",      //
	"usdot",     //
	"sdot",      //
	"bfdot",     //
	"any",       // of these, that which every processor has
	"vector",    // arithmetic on vectors, element by element
	"function",  // functions on vectors, of which exp counts as 16 operations
	"following", // arithmetic on vectors before and behind functions, which waits for them and they for it; as other arithmetic on vectors if it is left out
	"division",  // divisions and roots on vectors, of which each counts as 4
	"gather",    // elements of vectors that are no neighbours in memory, of which each counts as 1
	"shuffle",   // those of them that are two apart, which are shuffled out of two vectors; as arithmetic on vectors if it is left out
	"scalar",    // arithmetic where there are no vectors
}

func (r *Rate) fields(f fields) {
	f.Text(field{"type", "element type that is computed with", true}, &r.Type, dtypeWords()...)
	f.Text(field{"row", "class of instructions", true}, &r.Row, Rows...)
	f.Figure(field{"rate", "operations a second of all units together; a multiply-add is two", true}, &r.Rate, PerSecond)
	f.Figure(field{"unit", "of one unit alone; its part of all if it is left out", false}, &r.Unit, PerSecond)
	f.Figure(field{"beside", "of all units together while all devices of the locality compute so; the rate at the pace of the locality if it is left out", false}, &r.Beside, PerSecond)
	f.Figure(field{"reached", "the part of the rate that programs reach", false}, &r.Reached, Part)
}

func (c *Cache) fields(f fields) {
	f.Text(field{"name", "such as L2", true}, &c.Name)
	f.Count(field{"bytes", "size of one", true}, &c.Bytes, Bytes)
	f.Count(field{"units", "cores or multiprocessors that share one", true}, &c.Units, Part)
	f.Figure(field{"bandwidth", "of one unit alone, which reads and writes as much", true}, &c.Bandwidth, BytesASecond)
	f.Figure(field{"read", "of one unit alone, where nothing is written; the bandwidth if it is left out", false}, &c.Read, BytesASecond)
	f.Figure(field{"all", "of all units together that share one; as much as each alone if it is left out", false}, &c.All, BytesASecond)
	f.Figure(field{"all-read", "the same where nothing is written", false}, &c.AllRead, BytesASecond)
	f.Figure(field{"kept", "part that it has of data of its size that is touched in turns; all of it if it is left out, and nothing of a quarter more", false}, &c.Kept, Part)
	f.Figure(field{"kept-beyond", "part that it has of data half as large again", false}, &c.Beyond, Part)
	f.Figure(field{"lasts", "of the last cache, how long what nobody touches stays there while others use it: half of it; for ever if it is left out", false}, &c.Lasts, Seconds)
	f.Figure(field{"columns", "of one unit alone, of the right factor of a product of one row, which is read in place; as read if it is left out", false}, &c.Columns, BytesASecond)
	f.Figure(field{"exchange", "of a cache of one unit, what another unit reads that is written there; as from a cache of its own if it is left out", false}, &c.Exchange, BytesASecond)
}

// Eaches say who has a link of its own: each member of a locality, each device in it, or the locality as a whole, whose members share it.
var Eaches = []string{EachMember, EachDevice, EachLocality}

// The words of Eaches.
const (
	EachMember   = "member"
	EachDevice   = "device"
	EachLocality = "locality"
)

func (l *Link) fields(f fields) {
	f.Text(field{"name", "what the kind of link is called", true}, &l.Name)
	f.Text(field{"source", "where its figures are from", false}, &l.Source)
	f.Figure(field{"latency", "from end to end", true}, &l.Latency, Seconds)
	f.Figure(field{"bandwidth", "of each member, in each direction", true}, &l.Bandwidth, BytesASecond)
	f.Text(field{"each", "who has a link of its own: members of the locality if it is left out", false}, &l.Each, Eaches...)
}

func (l *Locality) fields(f fields) {
	f.Text(field{"name", "what the locality is called", true}, &l.Name)
	f.Text(field{"link", "the link that joins what it holds", false}, &l.Link)
	f.Figure(field{"bandwidth", "of the memory that its devices share, all of them together; each has a memory of its own if it is left out", false}, &l.Bandwidth, BytesASecond)
	f.Figure(field{"read", "the same where nothing is written; the bandwidth if it is left out", false}, &l.Read, BytesASecond)
	f.Figure(field{"pace", "the part of what its devices do alone that each does while all compute and wait for the slowest; all of it if it is left out", false}, &l.Pace, Part)
	list(f, field{"members", "what it holds", true}, &l.Members, (*Member).fields)
}

func (m *Member) fields(f fields) {
	f.Text(field{"of", "name of a device or of a locality", true}, &m.Of)
	f.Count(field{"count", "how many of them", true}, &m.Count, Part)
}
