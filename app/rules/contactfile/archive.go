package contactfile

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"mailer/app"
)

// Limits of ZIP archives.
const (
	MaxMembers     = 1000     // files in an archive
	MaxUnpacked    = 2 << 30  // bytes of all members unpacked
	maxRatio       = 100      // unpacked to packed size
	ratioFreeBytes = 16 << 20 // bytes below which the ratio does not matter
	maxDirectory   = 1 << 20  // bytes of the central directory
)

// ArchiveError is an error about a whole file.
type ArchiveError struct{ Message string }

// Error implements error.
func (e *ArchiveError) Error() string { return e.Message }

// Archive is a file of contacts: one table, or a ZIP archive of several.
type Archive struct {
	Members []Member // sorted by name
	Ignored []string // names of members that are not tables
	Encoded bool     // its text can't be searched: a ZIP archive, or UTF-16
}

// Member is a table of an archive.
type Member struct {
	Name string // in a ZIP archive; empty: the file is not an archive
	open func() (io.Reader, error)
}

// Read starts to read a table, as Read does.
func (m *Member) Read() (*Rows, []string, error) {
	r, err := m.open()
	if err != nil {
		return nil, nil, err
	}
	rows, headings, err := Read(r)
	if errors.Is(err, errDamaged) {
		err = &FileError{1, damaged}
	}
	return rows, headings, err
}

// Open opens a file of a given size. Errors: *ArchiveError, and those of file.
func Open(file io.ReaderAt, size int64) (*Archive, error) {
	start := make([]byte, peekBytes)
	n, err := file.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	start = start[:n]
	if bytes.HasPrefix(start, []byte("PK\x03\x04")) || bytes.HasPrefix(start, []byte("PK\x05\x06")) {
		return unzip(file, size)
	}
	order, _ := order16(start)
	return &Archive{Members: []Member{{open: section(file, 0, size)}}, Encoded: order != nil}, nil
}

func section(file io.ReaderAt, at, size int64) func() (io.Reader, error) {
	return func() (io.Reader, error) { return io.NewSectionReader(file, at, size), nil }
}

// Part is the range of a member in an unpacked file.
type Part struct {
	Name string `json:"name,omitempty"`
	At   int64  `json:"at"`
	Size int64  `json:"size"`
}

// Unpack writes the members in UTF-8 one after the other. Errors: *ArchiveError for a damaged
// archive or more than MaxStored bytes, those of the file and of w.
func (b *Archive) Unpack(w io.Writer) (parts []Part, err error) {
	at := int64(0)
	for i := range b.Members {
		m := &b.Members[i]
		n, err := m.unpack(w, MaxStored-at)
		var fault *FileError
		if errors.As(err, &fault) || errors.Is(err, errDamaged) {
			err = &ArchiveError{"The ZIP archive is damaged"}
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{m.Name, at, n})
		at += n
	}
	return parts, nil
}

// unpack writes one member with a byte order mark.
func (m *Member) unpack(w io.Writer, maxBytes int64) (int64, error) {
	r, err := m.open()
	if err != nil {
		return 0, err
	}
	text, err := decoded(r)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(w, io.LimitReader(io.MultiReader(strings.NewReader(byteOrderMark), text), maxBytes+1))
	if err == nil && n > maxBytes {
		err = &ArchiveError{fmt.Sprintf("The file would become more than %d bytes", MaxStored)}
	}
	return n, err
}

// Unpacked returns the archive of an unpacked file.
func Unpacked(file io.ReaderAt, parts []Part) *Archive {
	book := &Archive{}
	for _, p := range parts {
		book.Members = append(book.Members, Member{Name: p.Name, open: section(file, p.At, p.Size)})
	}
	return book
}

// boundedAt limits how much of the central directory is read.
type boundedAt struct {
	io.ReaderAt
	left int64 // negative: no limit
	err  error // of the file
}

var errLongDirectory = errors.New("import: directory too long")

// ReadAt implements io.ReaderAt.
func (b *boundedAt) ReadAt(p []byte, at int64) (int, error) {
	if b.left == 0 {
		return 0, errLongDirectory
	}
	n, err := b.ReaderAt.ReadAt(p, at)
	if b.left > 0 {
		b.left = max(0, b.left-int64(n))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// unzip opens a ZIP archive.
func unzip(file io.ReaderAt, size int64) (*Archive, error) {
	bounded := &boundedAt{ReaderAt: file, left: maxDirectory}
	z, err := zip.NewReader(bounded, size)
	switch {
	case bounded.err != nil:
		return nil, bounded.err
	case errors.Is(err, errLongDirectory), err == nil && len(z.File) > MaxMembers:
		return nil, &ArchiveError{fmt.Sprintf("The ZIP archive holds more than %d files", MaxMembers)}
	case err != nil && !errors.Is(err, zip.ErrInsecurePath):
		return nil, &ArchiveError{"The ZIP archive is damaged or not whole"}
	}
	bounded.left = -1
	book := &Archive{Encoded: true}
	unpacked := uint64(0)
	for _, f := range z.File {
		if !isTable(f) {
			book.ignore(f)
			continue
		}
		if err := readable(f); err != nil {
			return nil, err
		}
		unpacked += min(f.UncompressedSize64, MaxUnpacked+1)
		book.Members = append(book.Members, Member{Name: f.Name, open: func() (io.Reader, error) { return openMember(f, bounded) }})
	}
	if unpacked > MaxUnpacked || unpacked > uint64(size)*maxRatio+ratioFreeBytes {
		return nil, &ArchiveError{fmt.Sprintf("The ZIP archive would become %d bytes, which is more than is taken: %d, and %d times its own size", unpacked, MaxUnpacked, maxRatio)}
	}
	if len(book.Members) == 0 {
		return nil, noTables(z)
	}
	slices.SortStableFunc(book.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	for i := len(book.Members) - 1; i > 0; i-- {
		if name := book.Members[i].Name; name == book.Members[i-1].Name {
			book.Members = slices.Delete(book.Members, i, i+1)
			book.Ignored = append(book.Ignored, name)
		}
	}
	return book, nil
}

// noTables returns the error for an archive without tables.
func noTables(z *zip.Reader) error {
	for _, f := range z.File {
		if f.Name == "[Content_Types].xml" {
			return &ArchiveError{"The file is a workbook of a spreadsheet: save it as CSV first"}
		}
	}
	return &ArchiveError{"The ZIP archive holds no .csv, .tsv or .txt file"}
}

// ignore records the name of an ignored file. Files of the archiver itself are not recorded.
func (b *Archive) ignore(f *zip.File) {
	if !f.FileInfo().IsDir() && !hidden(f.Name) {
		b.Ignored = append(b.Ignored, f.Name)
	}
}

func hidden(name string) bool {
	return strings.HasPrefix(name, "__MACOSX/") || strings.HasPrefix(path.Base(name), ".")
}

func isTable(f *zip.File) bool {
	if f.FileInfo().IsDir() || hidden(f.Name) || isSMSExport(f.Name) {
		return false
	}
	switch strings.ToLower(path.Ext(f.Name)) {
	case ".csv", ".tsv", ".txt":
		return true
	}
	return false
}

// readable refuses a member that can't be unpacked.
func readable(f *zip.File) error {
	switch {
	case f.Flags&1 != 0:
		return &ArchiveError{"The ZIP archive is encrypted: unpack it first"}
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return &ArchiveError{"The ZIP archive is packed in a way that is not read: unpack it first"}
	}
	return nil
}

// openMember starts to unpack a member, up to its announced size.
func openMember(f *zip.File, file *boundedAt) (io.Reader, error) {
	r, err := f.Open()
	if err != nil {
		if file.err != nil {
			return nil, file.err
		}
		return nil, &FileError{1, damaged}
	}
	return &unpacking{r: r, file: file, left: f.UncompressedSize64}, nil
}

const damaged = "the ZIP archive is damaged here"

// errDamaged means that unpacked data is not what was packed.
var errDamaged = errors.New("import: damaged archive")

// unpacking reads a member and distinguishes damage from errors of the file.
type unpacking struct {
	r    io.Reader
	file *boundedAt
	left uint64
}

// Read implements io.Reader.
func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if uint64(n) > u.left {
		return 0, errDamaged
	}
	u.left -= uint64(n)
	var corrupt flate.CorruptInputError
	if u.file.err == nil && (errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt)) {
		err = errDamaged
	}
	return n, err
}

// PlanArchive plans all tables of an archive, as Plan does for one table. skipped are unreadable
// members with the reasons. Errors: io.EOF and *FileError if nothing can be read, CodeValidation,
// and those of the file.
func (in *Input) PlanArchive(book *Archive, declared map[string]app.PropertyType) (plan *Plan, declare []app.PropertyInput, lacks []Skipped, err error) {
	if plan, err = in.begin(); err != nil {
		return nil, nil, nil, err
	}
	var first error
	for i := range book.Members {
		m := &book.Members[i]
		s, err := in.member(m, declared)
		if reason, ok := skippable(err); ok && m.Name != "" {
			if lacks = append(lacks, Skipped{m.Name, reason}); first == nil {
				first = err
			}
			continue
		}
		if err != nil {
			return nil, nil, nil, err
		}
		s.File = m.Name
		plan.Sheets = append(plan.Sheets, s)
		declare = s.declare(declared, declare)
	}
	if len(plan.Sheets) == 0 {
		return nil, nil, nil, first
	}
	if plan.Sheets[0].File == "" {
		plan.Sheet, plan.Sheets = plan.Sheets[0], nil
	}
	return plan, declare, lacks, nil
}

// Skipped is a member of an archive that is not read.
type Skipped struct{ File, Reason string }

// member plans one table.
func (in *Input) member(m *Member, declared map[string]app.PropertyType) (Sheet, error) {
	_, headings, err := m.Read()
	if err != nil {
		return Sheet{}, err
	}
	name := m.Name
	if name == "" {
		name = in.FileName
	}
	return in.sheet(name, headings, declared)
}

// skippable reports whether the other members can be read in spite of an error, with the reason to
// report.
func skippable(err error) (reason string, ok bool) {
	var fault *FileError
	var refusal *app.Error
	switch {
	case errors.Is(err, io.EOF):
		return "the file is empty", true
	case errors.As(err, &fault):
		return fault.Error(), true
	case errors.As(err, &refusal):
		return strings.TrimPrefix(refusal.Message, "`file` "), true
	}
	return ErrGzip.Error(), errors.Is(err, ErrGzip)
}

// All returns the tables of a plan.
func (p *Plan) All() []Sheet {
	if len(p.Sheets) > 0 {
		return p.Sheets
	}
	return []Sheet{p.Sheet}
}

// Walk reads the rows of all tables of a plan in order.
type Walk struct {
	book   *Archive
	sheets []Sheet
	rows   *Rows // nil: the first sheet is not open yet
}

// Walk starts to read a planned archive.
func (b *Archive) Walk(p *Plan) *Walk { return &Walk{book: b, sheets: p.All()} }

// Next returns the next row with its table. Errors: io.EOF at the end of the last table;
// *FileError if a table can't be read further, after which the next call continues with the next
// table; those of the file.
func (w *Walk) Next() (Row, *Sheet, error) {
	for len(w.sheets) > 0 {
		row, err := w.next()
		if err == nil {
			return row, &w.sheets[0], nil
		}
		var fault *FileError
		sheet := &w.sheets[0]
		if errors.Is(err, io.EOF) || errors.As(err, &fault) {
			w.sheets, w.rows = w.sheets[1:], nil
		}
		if !errors.Is(err, io.EOF) {
			return Row{}, sheet, err
		}
	}
	return Row{}, nil, io.EOF
}

func (w *Walk) next() (Row, error) {
	if w.rows != nil {
		return w.rows.Next()
	}
	for i := range w.book.Members {
		if m := &w.book.Members[i]; m.Name == w.sheets[0].File {
			rows, _, err := m.Read()
			if err != nil {
				return Row{}, err
			}
			w.rows = rows
			return rows.Next()
		}
	}
	return Row{}, io.EOF
}

// Prefix returns the name of the table for messages about a row; empty without an archive.
func (s *Sheet) Prefix() string {
	if s.File == "" {
		return ""
	}
	name := strings.Trim(columnName(path.Base(s.File), 0), `"`)
	return name + ": "
}
