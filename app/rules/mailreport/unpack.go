package mailreport

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// Limits of packed content.
const (
	maxRatio       = 100       // unpacked to packed size
	ratioFreeBytes = 1 << 20   // bytes below which the ratio does not matter
	maxMembers     = 100       // concatenated gzip members
	maxDirectory   = 256 << 10 // bytes read to list the files of a ZIP archive
)

var errEmpty = errors.New("it is empty")

// unpack returns the content of a report: of a gzip file, of the first .xml file of a ZIP archive,
// or raw itself.
func unpack(raw []byte) ([]byte, error) {
	if len(raw) > MaxUnpacked {
		return nil, fmt.Errorf("it has more than %d MiB", MaxUnpacked>>20)
	}
	r, err := open(raw)
	if err != nil {
		return nil, err
	}
	limit := min(MaxUnpacked, max(ratioFreeBytes, maxRatio*len(raw)))
	content, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	switch {
	case len(content) > MaxUnpacked:
		return nil, fmt.Errorf("unpacked it has more than %d MiB", MaxUnpacked>>20)
	case len(content) > limit:
		return nil, fmt.Errorf("unpacked it has more than %d times its packed size", maxRatio)
	case err != nil:
		return nil, damage(err)
	case len(bytes.TrimSpace(content)) == 0:
		return nil, errEmpty
	}
	return content, nil
}

// unpackHead returns the first headBytes of the content. It ignores damage behind what was read.
func unpackHead(raw []byte) ([]byte, error) {
	r, err := open(raw)
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(r, headBytes))
	if len(head) > 0 {
		err = nil
	}
	return head, err
}

// open returns a reader of the unpacked content, whose length is not limited.
func open(raw []byte) (io.Reader, error) {
	switch {
	case bytes.HasPrefix(raw, []byte("\x1f\x8b")):
		src := bytes.NewReader(raw)
		z, err := gzip.NewReader(src)
		if err != nil {
			return nil, damage(err)
		}
		z.Multistream(false)
		return &gzipMembers{z, src, maxMembers}, nil
	case bytes.HasPrefix(raw, []byte("PK\x03\x04")), bytes.HasPrefix(raw, []byte("PK\x05\x06")):
		return openZIP(raw)
	}
	return bytes.NewReader(raw), nil
}

// damage describes an error of packed content.
func damage(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the packed file ends too early")
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zip.ErrChecksum):
		return errors.New("the packed file is damaged: its checksum is wrong")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zip.ErrFormat), errors.As(err, &corrupt):
		return errors.New("the packed file is damaged")
	}
	return err
}

// gzipMembers reads concatenated gzip members. It ignores what follows the last one: some senders
// pad the file.
type gzipMembers struct {
	z    *gzip.Reader
	src  *bytes.Reader
	left int
}

// Read implements io.Reader.
func (m *gzipMembers) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 && err == io.EOF {
			return n, nil // the next call returns io.EOF again
		}
		if err != io.EOF {
			return n, err
		}
		if m.left--; m.left <= 0 || m.z.Reset(m.src) != nil {
			return 0, io.EOF
		}
		m.z.Multistream(false)
	}
}

var errManyFiles = errors.New("the ZIP archive holds too many files")

// limitedAt limits how much is read; negative: no limit.
type limitedAt struct {
	r    io.ReaderAt
	left int
}

// ReadAt implements io.ReaderAt.
func (l *limitedAt) ReadAt(p []byte, at int64) (int, error) {
	if l.left == 0 {
		return 0, errManyFiles
	}
	n, err := l.r.ReadAt(p, at)
	if l.left > 0 {
		l.left = max(0, l.left-n)
	}
	return n, err
}

// openZIP opens the first .xml file of a ZIP archive.
func openZIP(raw []byte) (io.Reader, error) {
	src := &limitedAt{bytes.NewReader(raw), maxDirectory}
	z, err := zip.NewReader(src, int64(len(raw)))
	switch {
	case errors.Is(err, errManyFiles):
		return nil, errManyFiles
	case err != nil && !errors.Is(err, zip.ErrInsecurePath): // names are not used
		return nil, damage(err)
	}
	src.left = -1
	for _, f := range z.File {
		if !strings.EqualFold(path.Ext(f.Name), ".xml") || f.FileInfo().IsDir() || strings.HasPrefix(f.Name, "__MACOSX/") {
			continue
		}
		switch {
		case f.Flags&1 != 0:
			return nil, errors.New("the ZIP archive is encrypted")
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return nil, errors.New("the ZIP archive uses a compression other than deflate")
		}
		r, err := f.Open()
		if err != nil {
			return nil, damage(err)
		}
		return r, nil
	}
	return nil, errors.New("the ZIP archive holds no .xml file")
}

var xmlDeclaration = regexp.MustCompile(`^\s*<\?xml\s[^>]{0,500}\?>`)
var declaredEncoding = regexp.MustCompile(`encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// toUTF8 converts a document. Valid UTF-8 is taken as such whatever is declared, since some
// reporters declare UTF-16 and send UTF-8. Without a known declaration, invalid bytes are replaced.
func toUTF8(doc []byte) []byte {
	switch {
	case bytes.HasPrefix(doc, []byte("\xef\xbb\xbf")):
		doc = doc[3:]
	case bytes.HasPrefix(doc, []byte("\xff\xfe")), bytes.HasPrefix(doc, []byte("<\x00")), bytes.HasPrefix(doc, []byte("{\x00")):
		return decode(doc, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM))
	case bytes.HasPrefix(doc, []byte("\xfe\xff")), bytes.HasPrefix(doc, []byte("\x00<")), bytes.HasPrefix(doc, []byte("\x00{")):
		return decode(doc, unicode.UTF16(unicode.BigEndian, unicode.UseBOM))
	}
	if utf8.Valid(doc) && !bytes.Contains(doc, []byte("\x1b")) { // ISO 2022 is made of ASCII and escapes
		return doc
	}
	if m := declaredEncoding.FindSubmatch(xmlDeclaration.Find(doc)); m != nil {
		if e, err := htmlindex.Get(string(m[1])); err == nil && isByteEncoding(e) {
			return decode(doc, e)
		}
	}
	return bytes.ToValidUTF8(doc, []byte("\uFFFD"))
}

// isByteEncoding reports whether a text in ASCII is the same in an encoding.
func isByteEncoding(e encoding.Encoding) bool {
	name, err := htmlindex.Name(e)
	return err == nil && name != "utf-8" && name != "replacement" && !strings.HasPrefix(name, "utf-16")
}

func decode(doc []byte, e encoding.Encoding) []byte {
	out, err := e.NewDecoder().Bytes(doc)
	if err != nil {
		return bytes.ToValidUTF8(doc, []byte("\uFFFD"))
	}
	return out
}
