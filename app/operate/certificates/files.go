package certificates

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"time"
)

// stamp detects changes of the files, including their replacement.
type stamp [2]os.FileInfo

// stampOf returns the state of the files; nil for a missing one.
func (c *Config) stampOf() (now stamp) {
	for i, path := range []string{c.certFile, c.keyFile} {
		now[i], _ = os.Stat(path) // errors are reported when the file is read
	}
	return now
}

func (s stamp) same(now stamp) bool {
	for i := range s {
		if s[i] == nil || now[i] == nil {
			if s[i] != now[i] {
				return false
			}
			continue
		}
		if !os.SameFile(s[i], now[i]) || !s[i].ModTime().Equal(now[i].ModTime()) || s[i].Size() != now[i].Size() {
			return false
		}
	}
	return true
}

// KeyExposed begins the failure text of a certificate whose private key others can read.
const KeyExposed = "others can read the private key "

// exposed returns a text if every user of this machine can read or write the private key file. A
// group that its owner chose may read it.
func (c *Config) exposed() string {
	info, err := os.Stat(c.keyFile)
	if err != nil || info.Mode().Perm()&0o007 == 0 {
		return "" // errors are reported when the file is read
	}
	return fmt.Sprintf("%s%s, whose mode is %04o", KeyExposed, c.keyFile, info.Mode().Perm())
}

// read loads the key pair from the files. After an error the old pair stays in use.
func (c *Config) read() error {
	c.seen = c.stampOf() // before reading, so that a change in between is seen next time
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read %s with %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair.Store(&pair)
	return nil
}

// checkFileMode reports that others can read the private key, until its mode is corrected.
func (s *Service) checkFileMode() {
	now, before := s.cfg.exposed(), ""
	if st := s.at(s.cfg.certFile); st != nil && strings.HasPrefix(st.Failure, KeyExposed) {
		before = st.Failure
	}
	switch {
	case now == before:
	case now == "":
		s.renewed(s.cfg.certFile, s.cfg.pair.Load().Leaf)
	default:
		s.Log.Warn(now, "help", "chmod 600 "+s.cfg.keyFile+", and create a new key if others have accounts on this server")
		s.failed(s.cfg.certFile, now)
	}
}

// follow reloads changed files and updates the state of their certificate.
func (s *Service) follow() time.Duration {
	c := s.cfg
	if !c.seen.same(c.stampOf()) {
		if err := c.read(); err != nil {
			s.Log.Error("the certificate files changed and can't be used; the server keeps using its current certificate", "err", err)
			s.failed(c.certFile, err.Error())
		} else {
			s.Log.Info("took up the certificate of changed files", "file", c.certFile, "until", c.pair.Load().Leaf.NotAfter)
			s.renewed(c.certFile, c.pair.Load().Leaf)
		}
	} else if s.at(c.certFile) == nil {
		s.renewed(c.certFile, c.pair.Load().Leaf)
	}
	s.checkFileMode()
	s.warn()
	return fileCheckInterval
}
