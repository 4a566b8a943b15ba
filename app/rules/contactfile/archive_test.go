package contactfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

// in16 encodes text in UTF-16.
func in16(order binary.AppendByteOrder, text string) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func TestEncodings(t *testing.T) {
	const text = "email;name\nö@example.org;Zoë 😀\n"
	long := strings.Repeat("a@example.org;x\n", 20_000) // the first non-ASCII letter comes late
	for _, tt := range []struct{ name, file, want string }{
		{"UTF-8", text, text},
		{"a mark", "\ufeff" + text, text},
		{"UTF-16 LE and a mark", "\xff\xfe" + in16(binary.LittleEndian, text), text},
		{"UTF-16 BE and a mark", "\xfe\xff" + in16(binary.BigEndian, text), text},
		{"UTF-16 LE", in16(binary.LittleEndian, text), text},
		{"UTF-16 BE", in16(binary.BigEndian, text), text},
		{"Windows-1252", "email;name\n\xf6@example.org;\x80 \x84q\x93\n", "email;name\nö@example.org;€ „q“\n"},
		{"Windows-1252 late", long + "\xe9", long + "é"},
		{"UTF-8 late, and then not", long + "é\xe9", long + "é\xe9"},
		{"half a letter at the end", "a\xc3", "aÃ"},
		{"no character", "\xe9\x81", "é\xff"},
		{"half a pair", "\xff\xfea\x00\x3d\xd8b\x00\x00\xdc", "a\xffb\xff"},
		{"half a unit", "\xff\xfea\x00b", "a\xff"},
		{"half a pair at the end", "\xff\xfea\x00\x3d\xd8", "a\xff"},
		{"nothing", "", ""},
		{"a mark alone", "\xff\xfe", ""},
		{"zeros", "a,b\x00c\n", "a,b\x00c\n"},
	} {
		for _, r := range []io.Reader{strings.NewReader(tt.file), iotest.OneByteReader(strings.NewReader(tt.file)), iotest.DataErrReader(strings.NewReader(tt.file))} {
			d, err := decoded(r)
			if err != nil {
				t.Fatal(tt.name, err)
			}
			got, err := io.ReadAll(d)
			if err != nil || string(got) != tt.want {
				t.Errorf("%s: %.80q, %v", tt.name, got, err)
			}
		}
	}
	if _, err := decoded(strings.NewReader("\x1f\x8b\x08\x00")); !errors.Is(err, ErrGzip) {
		t.Error(err)
	}
}

// packed returns a ZIP archive of members, given as alternating names and texts.
func packed(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i])
		if err == nil {
			_, err = io.WriteString(w, members[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// walk reads a whole archive and describes its rows.
func walk(file []byte, in *Input) (string, error) {
	book, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return "", err
	}
	plan, _, lacks, err := in.PlanArchive(book, nil)
	if err != nil {
		return "", err
	}
	var out []string
	w := book.Walk(plan)
	for {
		row, sheet, err := w.Next()
		var fault *FileError
		if errors.Is(err, io.EOF) {
			break
		} else if errors.As(err, &fault) {
			out = append(out, sheet.File+" "+fault.Error())
			continue
		} else if err != nil {
			return "", err
		}
		p := sheet.Contact(row)
		out = append(out, fmt.Sprintf("%s:%d %s%s", sheet.File, row.Line, p.Email, p.Problem))
	}
	for _, l := range lacks {
		out = append(out, "lack "+l.File+" "+l.Reason)
	}
	for _, name := range book.Ignored {
		out = append(out, "ignored "+name)
	}
	return strings.Join(out, "\n"), nil
}

func TestArchiveIsReadInNameOrder(t *testing.T) {
	file := packed(t, "z.txt", "email\nz@example.org\n", "folder/a.CSV", "email;x\na@example.org;1\nnobody;2\n", "b.tsv", in16(binary.LittleEndian, "email\tx\nb@example.org\t1\n"),
		"folder/", "", "__MACOSX/folder/._a.csv", "junk", ".hidden.csv", "junk", "readme.md", "junk", "empty.csv", "\n", "other.csv", "name\nx\n", "broken.csv", "email\nc@example.org\n\"d@example.org\n", "z.txt", "email\ntwice@example.org\n")
	got, err := walk(file, &Input{})
	const want = `b.tsv:2 b@example.org
broken.csv:2 c@example.org
broken.csv Line 3: a value in double quotes has no proper end
folder/a.CSV:2 a@example.org
folder/a.CSV:3 Column "email" is not a valid email address
z.txt:2 z@example.org
lack empty.csv the file is empty
lack other.csv has no column for the email address in its first row: name it email, or say which it is with ` + "`column_map`" + `
ignored readme.md
ignored z.txt`
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestUnreadableArchiveIsRefused(t *testing.T) {
	many := make([]string, 0, 2*(MaxMembers+1))
	for i := range MaxMembers + 1 {
		many = append(many, fmt.Sprintf("%d.csv", i), "email\n")
	}
	directory := make([]string, 0, 40_000)
	for i := range 20_000 {
		directory = append(directory, fmt.Sprintf("%d%s.png", i, strings.Repeat("x", 40)), "")
	}
	good := packed(t, "a.csv", "email\na@example.org\n")
	encrypted := bytes.Clone(good)
	at := bytes.Index(encrypted, []byte("PK\x01\x02"))
	encrypted[at+8] |= 1
	other := bytes.Clone(good)
	other[bytes.Index(other, []byte("PK\x01\x02"))+10] = 12 // bzip2
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"many", packed(t, many...), "more than 1000 files"},
		{"a long directory", packed(t, directory...), "more than 1000 files"},
		{"a bomb", packed(t, "a.csv", "email\n"+strings.Repeat("a@example.org\n", 4<<20)), "more than is taken"},
		{"encrypted", encrypted, "encrypted"},
		{"packed otherwise", other, "packed in a way"},
		{"cut off", good[:len(good)-5], "damaged or not whole"},
		{"nothing", packed(t), "holds no .csv"},
		{"no tables", packed(t, "a.png", "x"), "holds no .csv"},
		{"a workbook", packed(t, "[Content_Types].xml", "x", "xl/workbook.xml", "x"), "workbook"},
		{"no addresses", packed(t, "a.csv", "name\nx\n"), "has no column for the email address"},
	} {
		if got, err := walk(tt.file, &Input{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v\n%s", tt.name, err, got)
		}
	}
}

// TestOversizedMemberIsDamage: the announced sizes of an archive are checked while it is unpacked.
func TestOversizedMemberIsDamage(t *testing.T) {
	rows := "email\n" + strings.Repeat("a@example.org\n", 100_000)
	corrupt := packed(t, "a.csv", rows, "b.csv", "email\nb@example.org\n")
	at := bytes.Index(corrupt, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(corrupt[at+24:], 200_000)
	flipped := packed(t, "a.csv", rows, "b.csv", "email\nb@example.org\n")
	flipped[2000] ^= 0xff
	for name, file := range map[string][]byte{"lies": corrupt, "flipped": flipped} {
		got, err := walk(file, &Input{})
		if err != nil || !strings.Contains(got, damaged) || !strings.Contains(got, "b.csv:2 b@example.org") {
			t.Errorf("%s: %v %.300s", name, err, got)
		}
	}
}

// brokenAt fails beyond an offset, as a store may.
type brokenAt struct {
	*bytes.Reader
	from int64
}

var errStore = errors.New("the store is gone")

// ReadAt implements io.ReaderAt.
func (b brokenAt) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) <= b.from {
		return b.Reader.ReadAt(p, at)
	}
	if at >= b.from {
		return 0, errStore
	}
	n, _ := b.Reader.ReadAt(p[:b.from-at], at)
	return n, errStore
}

func TestStoreErrorIsNotDamage(t *testing.T) {
	for name, file := range map[string][]byte{"packed": packed(t, "a.csv", "email\n"+strings.Repeat("a@example.org,", 30_000)), "plain": []byte("email\n" + strings.Repeat("a@example.org\n", 30_000))} {
		for from := range int64(len(file)) {
			if from > 200 && from < int64(len(file))-200 {
				continue
			}
			broken := brokenAt{bytes.NewReader(file), from}
			book, err := Open(broken, int64(len(file)))
			for err == nil {
				var plan *Plan
				if plan, _, _, err = (&Input{}).PlanArchive(book, nil); err != nil {
					break
				}
				w := book.Walk(plan)
				for err == nil {
					_, _, err = w.Next()
				}
			}
			if !errors.Is(err, errStore) {
				t.Fatalf("%s, at %d of %d: %v", name, from, len(file), err)
			}
		}
	}
}

// FuzzArchive reads any bytes as a file of contacts, with each preset.
func FuzzArchive(f *testing.F) {
	f.Add(packed(f, "subscribed_x.csv", "Email Address,TAGS,LEID,EUID\na@example.org,\"\"\"x\"\"\",1,2\n", "cleaned_x.csv", "Email Address,LEID,EUID\nb@example.org,1,2\n"), uint8(1))
	f.Add([]byte("Subscriber,Status,Groups\na@example.org,unsubscribed,\"a,b\"\n"), uint8(6))
	f.Add([]byte("uuid,email,name,attributes,status\n1,a@example.org,A B,\"{\"\"a\"\":1e999}\",enabled\n"), uint8(8))
	f.Add([]byte("status,reason,email,created\n5.1.1,x,a@example.org,1\n"), uint8(3))
	f.Add([]byte(in16(binary.LittleEndian, "EMAIL;LISTS\na@example.org;x\n")), uint8(2))
	f.Fuzz(func(t *testing.T, file []byte, preset uint8) {
		in := &Input{}
		if n := int(preset) % (len(Presets) + 1); n > 0 {
			in.Preset = string(Presets[n-1])
		}
		book, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		plan, declare, _, err := in.PlanArchive(book, nil)
		if err != nil {
			return
		}
		for _, p := range declare {
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		w := book.Walk(plan)
		for {
			row, sheet, err := w.Next()
			var fault *FileError
			if errors.As(err, &fault) {
				continue
			} else if err != nil {
				break
			}
			checkContact(t, row, sheet.Contact(row))
		}
	})
}

// FuzzReadSuppressions reads any bytes as a suppression list.
func FuzzReadSuppressions(f *testing.F) {
	f.Add([]byte(`{"Suppressions":[{"EmailAddress":"a@example.org","SuppressionReason":"HardBounce"}]}`), uint8(1))
	f.Add([]byte("[{\"email\":\"a@example.org\",\"status\":\"5.1.1\",\"created\":1},\n7,{\"x\":{\"y\":[1]}}]"), uint8(0))
	f.Add([]byte("address,tags,created_at\na@example.org,*,\"Fri, 21 Oct 2011 11:02:55 UTC\"\n"), uint8(2))
	f.Add([]byte("{\"EmailAddress\":\"a@example.org\",\"Reason\":\"BOUNCE\"}\n{"), uint8(3))
	f.Fuzz(func(t *testing.T, file []byte, from uint8) {
		line := 0
		var persons []Contact
		err := ReadSuppressionList(iotest.HalfReader(bytes.NewReader(file)), Services[int(from)%len(Services)], "list", func(at int, p Contact) error {
			if at < line || at > 1+bytes.Count(file, []byte("\n")) && at > len(file) {
				t.Fatalf("line %d after %d", at, line)
			}
			line = at
			if p.Contact != nil || p.Problem == "" && !p.Ignored && (p.Origin == "" || p.Email == "") || repeats(p.Problem, []string{p.Email}) {
				t.Fatalf("%+v", p)
			}
			persons = append(persons, p)
			return nil
		})
		var again []Contact
		same := ReadSuppressionList(bytes.NewReader(file), Services[int(from)%len(Services)], "list", func(_ int, p Contact) error { again = append(again, p); return nil })
		if fmt.Sprint(err) != fmt.Sprint(same) || fmt.Sprint(persons) != fmt.Sprint(again) {
			t.Fatalf("%v and %v: %+v, %+v", err, same, persons, again)
		}
	})
}
