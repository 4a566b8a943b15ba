package mailreport

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// xmlReader reads the XML of an aggregate report as a stream.
type xmlReader struct {
	report              DMARC
	domain, from, until string // as the report has them

	path     []string // names of the open elements
	ended    bool     // the root element
	text     []byte   // of the innermost one, cut
	records  int
	row      Row // of the open record
	detail   AuthDetail
	override string
}

// newXMLDecoder returns a decoder of UTF-8. It knows no entities other than those of XML itself.
func newXMLDecoder(doc []byte) *xml.Decoder {
	if declaration := xmlDeclaration.Find(doc); declaration != nil {
		doc = doc[len(declaration):] // its version and encoding don't matter
	}
	d := xml.NewDecoder(bytes.NewReader(doc))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	return d
}

var elementNames = strings.NewReplacer("_", "", "-", "")

// elementName returns the name of an element without its namespace, in lower case and without
// underscores. An early draft has identities for identifiers.
func elementName(n xml.Name) string {
	name := strings.ToLower(elementNames.Replace(n.Local))
	if name == "identities" {
		return "identifiers"
	}
	return name
}

// read reads a document up to the end of its root element.
func (x *xmlReader) read(doc []byte) error {
	doc, err := readable(doc)
	if err != nil {
		return err
	}
	d := newXMLDecoder(doc)
	for !x.ended {
		token, err := d.RawToken()
		if err != nil {
			return x.malformed(err)
		}
		if err := x.take(token); err != nil {
			line, _ := d.InputPos()
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	return nil
}

// malformed describes an error of the decoder.
func (x *xmlReader) malformed(err error) error {
	var syntax *xml.SyntaxError
	switch {
	case err == io.EOF && len(x.path) == 0:
		return errNoFeedback
	case err == io.EOF, errors.As(err, &syntax) && syntax.Msg == "unexpected EOF":
		return errors.New("the XML ends too early")
	case syntax != nil:
		return fmt.Errorf("line %d: it is not well-formed XML: %s", syntax.Line, clean(syntax.Msg))
	}
	return err
}

var errNoFeedback = errors.New("it is not a DMARC report: the root element is not feedback")

func (x *xmlReader) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.Directive:
		return errors.New("it has a document type declaration, which reports must not have")
	case xml.CharData:
		x.text = append(x.text, t[:min(len(t), 4*maxText-len(x.text))]...)
	case xml.StartElement:
		return x.start(elementName(t.Name))
	case xml.EndElement:
		return x.end(elementName(t.Name))
	}
	return nil
}

// schema is an element that some reports open without closing it.
const schema = "schema"

func (x *xmlReader) start(name string) error {
	x.text = x.text[:0]
	switch {
	case name == schema:
		return nil
	case len(x.path) == 0 && name != "feedback":
		return errNoFeedback
	case len(x.path) == maxDepth:
		return fmt.Errorf("it has more than %d nested elements", maxDepth)
	}
	x.path = append(x.path, name)
	if len(x.path) == 2 && name == "record" {
		if x.records++; x.records > MaxRecords {
			return fmt.Errorf("it has more than %d records", MaxRecords)
		}
	}
	return nil
}

func (x *xmlReader) end(name string) error {
	if name == schema {
		return nil
	}
	last := len(x.path) - 1
	if last < 0 || x.path[last] != name {
		return fmt.Errorf("it is not well-formed XML: unexpected end of the element %s", clean(name))
	}
	if last > 0 {
		x.set(strings.Join(x.path[1:], "/"), clean(string(x.text)))
	}
	x.path, x.text, x.ended = x.path[:last], x.text[:0], last == 0
	return nil
}

// readable replaces control characters, which XML does not allow, and refuses texts and tags whose
// length no report has, before the decoder collects them.
func readable(doc []byte) ([]byte, error) {
	doc = bytes.Clone(doc)
	last := 0
	for i, c := range doc {
		switch {
		case c == '<':
			last = i
		case c < ' ' && c != '\t' && c != '\n' && c != '\r':
			doc[i] = ' '
		}
		if i-last > maxUntagged {
			return nil, fmt.Errorf("it has a tag or text of more than %d KiB", maxUntagged>>10)
		}
	}
	return doc, nil
}
