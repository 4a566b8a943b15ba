package reports

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/mailreport"
	"mailer/db"
)

// Refusal is a report, or a mail of a mailbox, that was not imported.
type Refusal struct {
	Name   string // of the file; in a mailbox with the number of the mail
	Reason string
}

// Imported is the result of an import.
type Imported struct {
	Reports    []app.MailReport // at most maxListed
	Imported   int
	Duplicates int
	Refused    []Refusal // at most maxListed
	RefusedAll int
}

const maxListed = 100

// reasonOf returns the text of an error without its code.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*app.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// Refuse adds a file that was not imported.
func (i *Imported) Refuse(name string, err error) {
	i.RefusedAll++
	if len(i.Refused) < maxListed {
		i.Refused = append(i.Refused, Refusal{name, reasonOf(err)})
	}
}

// maxMail is how many bytes a mail in a mailbox may have: a report of app.MaxReportUpload in base64, and some more.
const maxMail = app.MaxReportUpload/2*3 + 64<<10

// MaxMail is how many bytes a mail with a report may have.
const MaxMail = maxMail

// Import adds the reports in a file to out: of a report itself (XML, gzip, zip or JSON), of a mail, or of each mail in a
// mailbox (mbox). domainID limits it to one domain of the team; empty: the domains are found by their names. What can't
// be imported is added to out as refused. Uploaded reports count: the team knows where they come from. Errors: those of r, of the
// store and of ctx, CodeNotFound for an unknown domain.
func (s *Service) Import(ctx context.Context, teamID, domainID, name string, r io.Reader, out *Imported) error {
	if domainID != "" {
		if _, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Domain, error) { return r.Domain(teamID, domainID) }); err != nil {
			return base.Lookup("domain", err)
		}
	}
	before := out.Imported
	in := bufio.NewReaderSize(r, 64<<10)
	err := s.read(ctx, teamID, func() error { return s.importFile(ctx, teamID, domainID, name, in, out) })
	if out.Imported == before {
		return err
	}
	return errors.Join(err, base.Unavailable(s.DB.Write(ctx, func(tx *db.Tx) error {
		return base.Audit(ctx, tx, teamID, "report.import", domainID, nil, map[string]any{"file": app.CutText(name, 255), "reports": out.Imported - before})
	})))
}

func (s *Service) importFile(ctx context.Context, teamID, domainID, name string, in *bufio.Reader, out *Imported) error {
	head, err := in.Peek(5)
	if err != nil && err != io.EOF {
		return err
	}
	if string(head) == "From " {
		n := 0
		return eachMail(in, func(raw []byte, tooLarge bool) error {
			n++
			part := fmt.Sprintf("%s, mail %d", name, n)
			if tooLarge {
				out.Refuse(part, app.Errorf(app.CodeValidation, "The mail is larger than %d MiB", maxMail>>20))
				return nil
			}
			return s.importMail(ctx, teamID, domainID, part, raw, out)
		})
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxMail+1))
	if err != nil {
		return err
	}
	if len(raw) > maxMail {
		out.Refuse(name, app.Errorf(app.CodeValidation, "The file is larger than %d MiB", maxMail>>20))
		return nil
	}
	if mailreport.Kind(raw) == mailreport.NoReport && looksLikeMail(raw) {
		return s.importMail(ctx, teamID, domainID, name, raw, out)
	}
	return s.importReport(ctx, teamID, domainID, name, raw, out)
}

// looksLikeMail reports whether a file begins with a header field.
func looksLikeMail(raw []byte) bool {
	line, _, _ := bytes.Cut(raw[:min(len(raw), 1000)], []byte("\n"))
	name, _, ok := bytes.Cut(line, []byte(":"))
	return ok && len(name) > 0 && bytes.IndexFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '<' || r == '{' }) < 0
}

// eachMail calls take for each mail of a mailbox in the format mbox. A mail of more than maxMail bytes is not kept.
func eachMail(in *bufio.Reader, take func(raw []byte, tooLarge bool) error) error {
	var mail bytes.Buffer
	begun, tooLarge, lineStart, empty := false, false, true, true
	flush := func() error {
		if !begun {
			return nil
		}
		err := take(mail.Bytes(), tooLarge)
		mail.Reset()
		tooLarge = false
		return err
	}
	for {
		piece, err := in.ReadSlice('\n')
		switch {
		case lineStart && empty && bytes.HasPrefix(piece, []byte("From ")):
			if err := flush(); err != nil {
				return err
			}
			begun = true
		case mail.Len()+len(piece) > maxMail:
			tooLarge = true
		default:
			mail.Write(piece)
		}
		empty = lineStart && len(bytes.TrimRight(piece, "\r\n")) == 0
		lineStart = err == nil
		switch {
		case err == io.EOF:
			return flush()
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

func (s *Service) importMail(ctx context.Context, teamID, domainID, name string, raw []byte, out *Imported) error {
	found := reportInMail(raw)
	if found == nil {
		out.Refuse(name, app.Errorf(app.CodeValidation, "The mail has no DMARC or TLS report"))
		return nil
	}
	return s.importReport(ctx, teamID, domainID, name, found, out)
}

// importReport imports one report.
func (s *Service) importReport(ctx context.Context, teamID, domainID, name string, raw []byte, out *Imported) error {
	c, err := readReport(raw)
	if err != nil {
		out.Refuse(name, err)
		return nil
	}
	domains, err := s.domainsOf(ctx, teamID, domainID, c)
	if err != nil {
		return err
	}
	found := false
	for i := range domains {
		head, sources, ok := c.about(domains[i].Name, domainID != "")
		if !ok {
			continue
		}
		found = true
		if err := checkPeriod(&head, clock.Now(), s.kept()); err != nil {
			out.Refuse(name, err)
			return nil
		}
		head.ID, head.TeamID, head.DomainID, head.Origin, head.Counted = app.NewID(), teamID, domains[i].ID, app.ReportUploaded, true
		why, err := s.store(ctx, &head, sources)
		if err != nil {
			return err
		}
		out.add(&head, name, why)
	}
	if !found {
		out.Refuse(name, notOurs(c, domains, domainID))
	}
	return nil
}

// add adds a report that store stored, or did not.
func (i *Imported) add(m *app.MailReport, name, why string) {
	switch {
	case why == alreadyStored:
		i.Duplicates++
	case why != "":
		i.Refuse(name, errors.New(why))
	default:
		i.Imported++
		if len(i.Reports) < maxListed {
			i.Reports = append(i.Reports, *m)
		}
	}
}

// notOurs says why a report is about none of the domains.
func notOurs(c *content, domains []app.Domain, domainID string) error {
	names := strings.Join(c.domains(), ", ")
	switch {
	case names == "":
		return app.Errorf(app.CodeValidation, "The report names no domain")
	case domainID != "" && len(domains) > 0:
		return app.Errorf(app.CodeValidation, "The report is about %s, not about %s", names, domains[0].Name)
	}
	return app.Errorf(app.CodeValidation, "The report is about %s, which is no domain of this team", names)
}

// domainsOf returns the domains of a team that a report may be about: those that it names, or those below with messages.
func (s *Service) domainsOf(ctx context.Context, teamID, domainID string, c *content) (domains []app.Domain, err error) {
	add := func(r *db.Reader, name string) (found bool, err error) {
		d, err := r.DomainByName(teamID, name)
		if err == nil {
			domains = append(domains, d)
		}
		return err == nil, base.IgnoreNotFound(err)
	}
	below := c.below(maxBelow)
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		domains = nil
		if domainID != "" {
			d, err := r.Domain(teamID, domainID)
			domains = append(domains, d)
			return err
		}
		for _, name := range c.domains() {
			found, err := add(r, name)
			if err != nil {
				return err
			}
			for i := 0; !found && i < len(below); i++ {
				if _, err := add(r, below[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return domains, base.Lookup("domain", err)
}

const maxBelow = 100
