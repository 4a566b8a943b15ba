// Package contactfile reads files of contacts: it interprets the columns and returns the contacts
// row by row. It reads only the given file and holds one row in memory.
//
// Failure policy: an invalid row is returned with its problem, and reading continues. Only a file
// that can't be divided into rows any more is an error (*FileError). No message contains data of a
// row, since rows are personal data.
package contactfile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"mailer/app"
)

// Rows reads the rows of a CSV file (RFC 4180; the separator may also be a semicolon or tab, the
// encoding also UTF-16 or Windows-1252) and holds one row in memory. encoding/csv reads an
// unclosed quote up to the end of the file, so the size of a row is limited in the reader below
// it.
type Rows struct {
	csv   *csv.Reader
	limit *recordLimit
	next  int // line of the next row, unless empty lines precede it
}

// Row is a row of a file. Cells are valid until the next row is read.
type Row struct {
	Line    int // in the file, from 1
	Cells   []string
	Problem string // why the row is invalid; empty: it is not
}

// FileError is an error in a file from some line on.
type FileError struct {
	Line    int
	Message string
}

// Error implements error.
func (f *FileError) Error() string { return fmt.Sprintf("Line %d: %s", f.Line, f.Message) }

const importBuffer = 64 << 10 // bytes

// recordLimit fails when a record is too long.
type recordLimit struct {
	r           io.Reader
	given, upTo int64
}

var errRecordTooLong = errors.New("record too long")

// Read implements io.Reader.
func (l *recordLimit) Read(p []byte) (int, error) {
	if l.given >= l.upTo {
		return 0, errRecordTooLong
	}
	n, err := l.r.Read(p)
	l.given += int64(n)
	return n, err
}

// Read starts to read a file and returns its headings: the cells of its first non-empty row.
// Errors: io.EOF for a file without rows, *FileError, and those of r.
func Read(r io.Reader) (rows *Rows, headings []string, err error) {
	text, err := decoded(r)
	if err != nil {
		return nil, nil, err
	}
	limit := &recordLimit{r: text, upTo: importBuffer}
	buffer := bufio.NewReaderSize(limit, importBuffer)
	start, err := buffer.Peek(importBuffer)
	if err != nil && err != io.EOF && !errors.Is(err, errRecordTooLong) {
		return nil, nil, err
	}
	rows = &Rows{csv: csv.NewReader(buffer), limit: limit, next: 1}
	rows.csv.Comma = separator(start)
	rows.csv.FieldsPerRecord = -1
	rows.csv.ReuseRecord = true
	rows.csv.TrimLeadingSpace = rows.csv.Comma != '\t' // a quote may follow a blank
	row, err := rows.Next()
	if err == nil && row.Problem == "" && strings.EqualFold(row.Cells[0], separatorLine) {
		row, err = rows.Next()
	}
	if err != nil {
		return nil, nil, err
	}
	if row.Problem != "" {
		return nil, nil, &FileError{row.Line, row.Problem}
	}
	return rows, slices.Clone(row.Cells), nil
}

// separatorLine begins a first line that names the separator, as Excel writes it: sep=;
const separatorLine = "sep="

// separator returns the separator that the first line names, or the one that separates most of its
// cells.
func separator(start []byte) rune {
	line := bytes.TrimLeft(start, "\r\n")
	if n := len(separatorLine); len(line) > n && strings.EqualFold(string(line[:n]), separatorLine) && bytes.IndexByte([]byte(",;\t|"), line[n]) >= 0 {
		return rune(line[n])
	}
	counts := map[byte]int{}
	quoted := false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		}
		if c == '\n' && !quoted {
			break
		}
		if !quoted {
			counts[c]++
		}
	}
	best := ','
	for _, c := range ";\t" {
		if counts[byte(c)] > counts[byte(best)] {
			best = c
		}
	}
	return best
}

// Next returns the next non-empty row. Errors: io.EOF at the end, *FileError if rows can't be
// divided any more, and those of the file's reader.
func (r *Rows) Next() (Row, error) {
	for {
		r.limit.upTo = r.csv.InputOffset() + MaxRecord + importBuffer
		cells, err := r.csv.Read()
		var parse *csv.ParseError
		switch {
		case errors.Is(err, errRecordTooLong):
			return Row{}, &FileError{r.next, fmt.Sprintf("a row is longer than %d bytes, or a quote is never closed", MaxRecord)}
		case errors.As(err, &parse) && errors.Is(err, csv.ErrBareQuote):
			r.next = parse.Line + 1
			return Row{Line: parse.StartLine, Problem: "The row has a double quote inside a value that is not in double quotes"}, nil
		case errors.As(err, &parse):
			return Row{}, &FileError{parse.StartLine, "a value in double quotes has no proper end"}
		case errors.Is(err, errDamaged):
			return Row{}, &FileError{r.next, damaged}
		case err != nil:
			return Row{}, err
		}
		line, _ := r.csv.FieldPos(0)
		r.next = line + 1
		filled := false
		for _, cell := range cells {
			r.next += strings.Count(cell, "\n")
			filled = filled || strings.TrimSpace(cell) != ""
		}
		if filled {
			return Row{Line: line, Cells: cells}, nil
		}
	}
}

func parseFlag(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "yes":
		return true, nil
	case "false", "0", "no":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

// value parses the value of a property.
func (c *Column) value(text string) (*app.PropertyValue, error) {
	switch c.Type {
	case booleanColumn:
		v, err := parseFlag(text)
		return &app.PropertyValue{Type: app.StringProperty, Text: strconv.FormatBool(v)}, err
	case dayFirst, monthFirst, yearFirst:
		v, err := parseDate(text, c.Type)
		return &app.PropertyValue{Type: app.StringProperty, Text: v}, err
	case string(app.NumberProperty), decimalPoint, decimalComma:
		n, err := parseNumber(text, c.Type)
		if err != nil {
			return nil, err
		}
		return &app.PropertyValue{Type: app.NumberProperty, Number: n}, nil
	}
	return &app.PropertyValue{Type: app.StringProperty, Text: text}, nil
}

// Describe returns why a row was refused, from an error of ContactInput.Validate or of the store,
// with the name of the column and without data of the row.
func (s *Sheet) Describe(err error) string {
	var refusal *app.Error
	if !errors.As(err, &refusal) {
		return "The row could not be stored"
	}
	field, words, ok := strings.Cut(strings.TrimPrefix(refusal.Message, "`"), "` ")
	if !ok {
		return "The row could not be stored"
	}
	if field == app.EmailField {
		words, _, _ = strings.Cut(words, ":") // the rest is about names with addresses
		if strings.Contains(words, "'") {     // contains a character of the address
			words = "is not a valid email address"
		}
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		if field == c.Field && field != propertyField || field == propertyField+"."+c.Key {
			return "Column " + c.Name + " " + words
		}
	}
	if field == propertyField { // together with existing ones of the contact
		return "The contact's properties " + words
	}
	return "The row could not be stored"
}
