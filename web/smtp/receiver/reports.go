package receiver

import (
	"context"
	"errors"
	"io"
	"runtime/debug"

	"mailer/app/tenants/reports"
)

// maxReportsOf is how many domains one message may report to.
const maxReportsOf = 10

// rcptReport accepts an own address for reports.
func (s *session) rcptReport(to string) error {
	if len(s.returnPaths)+len(s.targets) > 0 || len(s.domains) >= maxReportsOf {
		return errSeparate
	}
	ctx, cancel := context.WithTimeout(s.server.ctx, s.server.limits.lookup)
	defer cancel()
	target, err := s.server.cfg.Reports.Recipient(ctx, to)
	switch {
	case errors.Is(err, reports.ErrNotHere):
		return s.refuse(errNoReports)
	case err != nil:
		s.server.cfg.Log.Error("look up an address for reports", "err", err)
		s.count(errNotFound, 0)
		return errNotFound
	case !s.server.intake.open():
		s.count(errBusy, 0)
		return errBusy
	}
	s.domains = append(s.domains, target)
	s.accept()
	return nil
}

// report reads a message with a report, and replies after the report is stored. What brings no report is taken and
// dropped: nobody reads the replies.
func (s *session) report(r io.Reader) error {
	in := s.server.spool.New(s.conn.Network().String())
	defer in.Close()
	if _, err := io.Copy(counted{in, s.server.intake}, io.LimitReader(r, reports.MaxMail+1)); err != nil {
		return replyToRead(err)
	}
	if in.Size() > reports.MaxMail {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return replyToRead(err)
		}
		s.count(errReportTooLarge, in.Size())
		return errReportTooLarge
	}
	if fault := in.Finish(); fault != nil {
		s.count(fault, in.Size())
		return fault
	}
	why, err := s.takeReport(reports.Delivery{RemoteIP: s.conn.Peer(), Helo: s.peerName(), MailFrom: s.from, To: s.domains, Raw: in, Size: in.Size()})
	if err != nil {
		answer := errNotStored
		if errors.Is(err, reports.ErrNotNow) {
			answer = errNotAuthenticated
		} else {
			s.server.cfg.Log.Error("store a report about a domain", "err", err)
		}
		s.count(answer, in.Size())
		return answer
	}
	s.taken = true
	s.count(nil, in.Size())
	if why != "" {
		s.server.cfg.Log.Info("report about a domain does not count", "domain", s.domains[0].Domain, "why", why)
	} else {
		s.conn.MarkKnown()
		s.server.cfg.Log.Info("report about a domain taken", "domain", s.domains[0].Domain)
	}
	return nil
}

// takeReport stores a report. After a panic the message is dropped: a fault of this program must not make its sender
// try again for days.
func (s *session) takeReport(in reports.Delivery) (why string, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.server.cfg.Log.Error("panic over a report about a domain", "panic", p, "stack", string(debug.Stack()))
			why, err = "it could not be read", nil
		}
	}()
	ctx, cancel := context.WithTimeout(s.server.ctx, s.server.limits.store)
	defer cancel()
	return s.server.cfg.Reports.Take(ctx, in)
}

var (
	errNoReports        = newReply(550, 5, 1, 1, "No domain gets reports at this address")
	errReportTooLarge   = newReply(552, 5, 3, 4, "The message is larger than a report may be here")
	errNotAuthenticated = newReply(451, 4, 7, 5, "The sender can't be authenticated now, try again later")
)
