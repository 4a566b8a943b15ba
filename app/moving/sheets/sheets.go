package sheets

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/app/rules/contactfile"
)

// maxSegments is the maximum number of segments from files, whose names are kept in memory.
const maxSegments = 10_000

// reader writes the content of files into an archive.
type reader struct {
	w        *archive.Writer
	segments map[string]bool // written segments
	declared map[string]bool // written properties
	left     int             // ignored suppressions
	email    string          // heading of the address column; empty: detected
	of       archive.Kind    // kind of all rows; empty: contacts
	file     string          // base name
	taken    int             // rows read, including refused ones
}

// Read reads files of contacts in order. preset is empty if headings determine it. email is the
// heading of the address column; empty: detected. left counts ignored suppressions (soft bounces
// and blocks). The caller finishes the archive. Errors name a file that can't be read at all.
func Read(w *archive.Writer, files []string, preset, email string) (left int, err error) {
	if _, err := contactfile.ParsePreset(preset); err != nil {
		return 0, fmt.Errorf("unknown preset %q: it must be %s", preset, contactfile.PresetNames)
	}
	r := &reader{w: w, segments: map[string]bool{}, declared: map[string]bool{}, email: email}
	for _, file := range files {
		if err := r.each(file, func(f *os.File, size int64) error { return r.contacts(f, size, preset) }); err != nil {
			return r.left, err
		}
	}
	return r.left, nil
}

// ReadSuppressions reads a suppression list of a service. left counts ignored entries: soft
// bounces and blocks. The caller finishes the archive. Errors name a file that can't be read at
// all.
func ReadSuppressions(w *archive.Writer, file, from string) (left int, err error) {
	service, err := contactfile.ParseService(from)
	if err != nil {
		return 0, fmt.Errorf("unknown service %q: sendgrid, postmark, mailgun or ses", from)
	}
	r := &reader{w: w, of: archive.Suppressions}
	err = r.each(file, func(f *os.File, _ int64) error {
		return contactfile.ReadSuppressionList(f, service, r.file, func(line int, p contactfile.Contact) error { return r.put(r.position("", line), &p) })
	})
	return r.left, err
}

// each opens and reads a file. An error after the first row becomes a refusal.
func (r *reader) each(file string, read func(f *os.File, size int64) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err // contains the path
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open a file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("read %s: it is no regular file", file)
	}
	r.file, r.taken = name(filepath.Base(file)), 0
	err = read(f, info.Size())
	var fault *contactfile.FileError
	var refusal *app.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("read %s: it is empty", file)
	case errors.As(err, &fault) && r.taken > 0:
		return r.refuse(r.position("", fault.Line), fault.Message)
	case errors.As(err, &refusal):
		words := strings.ReplaceAll(strings.TrimPrefix(refusal.Message, "`file` "), ": say which with `column_map`", "")
		return fmt.Errorf("read %s: %s", file, strings.ReplaceAll(words, "`column_map`", "--email-column HEADING"))
	}
	return fmt.Errorf("read %s: %w", file, err)
}

// contacts reads a file of contacts.
func (r *reader) contacts(f *os.File, size int64, preset string) error {
	book, err := contactfile.Open(f, size)
	if err != nil {
		return err
	}
	in := contactfile.Input{Preset: preset, EmailColumn: r.email, FileName: filepath.Base(f.Name())}
	plan, declare, lacks, err := in.PlanArchive(book, nil)
	if err != nil {
		return err
	}
	if err := r.begin(book, plan, declare, lacks); err != nil {
		return err
	}
	walk := book.Walk(plan)
	for {
		row, sheet, err := walk.Next()
		var fault *contactfile.FileError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &fault) && sheet.File == "":
			return err
		case errors.As(err, &fault):
			if err := r.refuse(r.position(sheet.File, fault.Line), fault.Message); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		p := sheet.Contact(row)
		if err := r.put(r.position(sheet.File, row.Line), &p); err != nil {
			return err
		}
	}
}

// begin writes what is known before the rows.
func (r *reader) begin(book *contactfile.Archive, plan *contactfile.Plan, declare []app.PropertyInput, lacks []contactfile.Skipped) error {
	for _, p := range declare {
		if r.declared[p.Key] {
			continue
		}
		r.declared[p.Key] = true
		if err := r.w.Put(archive.Properties, &archive.Property{Key: p.Key, Type: p.Type}); err != nil {
			return err
		}
	}
	for _, file := range book.Ignored {
		lacks = append(lacks, contactfile.Skipped{File: file, Reason: "it is no table of contacts: a .csv, .tsv or .txt file"})
	}
	for _, lack := range lacks {
		if err := r.w.Put(archive.Unmovables, &archive.Unmovable{Item: "file " + r.position(lack.File, 0).File, Reason: lack.Reason}); err != nil {
			return err
		}
	}
	for i := range plan.All() {
		s := &plan.All()[i]
		for _, c := range s.Consents() {
			if err := r.w.Put(archive.Consents, &archive.Consent{File: r.position(s.File, 0).File, Column: c.Column, ReadAs: c.ReadAs}); err != nil {
				return err
			}
		}
		if len(s.Left) == 0 {
			continue
		}
		if err := r.w.Put(archive.Unmovables, &archive.Unmovable{Item: "columns " + countOf(s.Left) + " of " + r.position(s.File, 0).File, Reason: ignoredReason}); err != nil {
			return err
		}
	}
	return nil
}

const ignoredReason = "they are the service's own, have no key, or are more than the properties that a contact can have"

// countOf joins names, only the first ones of many.
func countOf(names []string) string {
	const maxNames = 20
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}

// position returns a line of a file, or of a member of an archive.
func (r *reader) position(member string, line int) archive.Position {
	file := r.file
	if member != "" {
		file += "/" + name(member)
	}
	return archive.Position{File: file, Line: line}
}

// name returns a file name without unprintable characters.
func name(file string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, file)
}

func (r *reader) refuse(at archive.Position, reason string) error {
	r.taken++
	return r.w.Put(archive.Refusals, &archive.Refusal{Position: at, Reason: reason, Kind: r.of})
}

// put writes the data of a row.
func (r *reader) put(at archive.Position, p *contactfile.Contact) error {
	r.taken++
	if p.Ignored {
		r.left++
	}
	if p.Origin != "" {
		if err := r.w.Put(archive.Suppressions, &archive.Suppression{Email: strings.ToLower(p.Email), Origin: p.Origin, CreatedAt: p.At, From: at}); err != nil {
			return err
		}
	}
	if p.Contact != nil {
		if err := r.contact(at, p); err != nil {
			return err
		}
	}
	if p.Problem != "" {
		return r.refuse(at, p.Problem)
	}
	return nil
}

// join writes new segments and drops those beyond the limit.
func (r *reader) join(p *contactfile.Contact) error {
	kept := p.Segments[:0]
	for _, name := range p.Segments {
		if !r.segments[name] {
			if len(r.segments) == maxSegments {
				p.Problem = fmt.Sprintf("The files name more than %d segments: the contact is taken without those that came last", maxSegments)
				continue
			}
			r.segments[name] = true
			if err := r.w.Put(archive.Segments, &archive.Segment{ID: name, Name: name}); err != nil {
				return err
			}
		}
		kept = append(kept, name)
	}
	p.Segments = kept
	return nil
}

// contact writes new segments and then the contact.
func (r *reader) contact(at archive.Position, p *contactfile.Contact) error {
	if err := r.join(p); err != nil {
		return err
	}
	n := &p.Contact.Contact
	c := archive.Contact{Email: n.Email, FirstName: n.FirstName, LastName: n.LastName, Unsubscribed: n.Unsubscribed, Segments: p.Segments, CreatedAt: p.CreatedAt, From: at}
	for key, v := range p.Contact.Changes {
		if c.Properties == nil {
			c.Properties = make(map[string]any, len(p.Contact.Changes))
		}
		c.Properties[key] = v.Text
		if v.Type == app.NumberProperty {
			c.Properties[key] = v.Number
		}
	}
	return r.w.Put(archive.Contacts, &c)
}
