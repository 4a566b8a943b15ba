package settings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/operate/health"
	"mailer/db"
	"mailer/db/engine"
)

// storedSetting is the sealed setting with the stored values: a webhook URL may contain a secret.
const storedSetting = "flags"

// Config is what the service needs in addition to Base.
type Config struct {
	// Given are the values of flags and variables by flag name; nil: settings can't be changed in
	// this process.
	Given map[string]string
	// Use applies settings.
	Use func(f *Flags)
}

// Service changes settings while the server runs.
type Service struct {
	*base.Base
	Config

	mu     sync.Mutex // held while stored values are applied
	stored map[string]string
	seen   []byte // sealed, as in the database
}

// New returns the service. Load applies the stored values.
func New(base *base.Base, cfg Config) *Service { return &Service{Base: base, Config: cfg} }

// Setting is a setting of the server.
type Setting struct {
	health.Setting
	Changeable bool     // while the server runs
	Choices    []string // allowed values; empty: any valid one
}

// List adds the stored values to the settings at the start, and whether each can be changed.
func (s *Service) List(started []health.Setting) []Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	flags := normalize()
	out := make([]Setting, 0, len(started))
	for _, one := range started {
		set := Setting{Setting: one}
		if flags.Lookup(one.Name) != nil && s.isFixed(one.Name) == nil {
			set.Changeable, set.Choices = true, choices[one.Name]
			if value, ok := s.stored[one.Name]; ok {
				set.Value, set.From = value, health.FromDatabase
			}
		}
		set.Value = Shown(one.Name, set.Value)
		out = append(out, set)
	}
	return out
}

// Shown returns a setting's value without secrets.
func Shown(name, value string) string {
	if value == "" {
		return ""
	}
	switch name {
	case "alert-webhook-secret":
		return "…"
	case "alert-webhook": // the path may be a secret
		u, err := url.Parse(value)
		if err != nil {
			return "…"
		}
		if u.Host != "" && (len(strings.Trim(u.Path, "/")) > 0 || u.RawQuery != "" || u.User != nil) {
			return u.Scheme + "://" + u.Host + "/…"
		}
	}
	return value
}

// isFixed returns why a setting can't be changed while the server runs; nil: it can.
func (s *Service) isFixed(name string) error {
	_, given := s.Given[name]
	switch {
	case s.Given == nil:
		return app.Errorf(app.CodeConflict, "The settings of this server can't be changed while it runs")
	case given:
		return app.Errorf(app.CodeConflict, "%s is set by --%s or its environment variable, which win: change it there and restart the server", name, name)
	case name == "guardrails" && s.Settings.Cloud:
		return app.Errorf(app.CodeConflict, "guardrails are always enforced with --mode cloud")
	case strings.HasPrefix(name, "backup-") && engine.IsRemote(s.DB.Path()):
		return app.Errorf(app.CodeConflict, "This server makes no backups of a PostgreSQL database: use pg_dump, or the backups of its provider")
	}
	return nil
}

// Change stores values, or with nil deletes them so that the default applies, and applies them.
// Errors: CodeValidation, CodeConflict for a fixed setting.
func (s *Service) Change(ctx context.Context, changes map[string]*string) error {
	if len(changes) == 0 {
		return app.Invalid("values", "must name a setting")
	}
	names := slices.Sorted(maps.Keys(changes))
	for _, name := range names {
		if err := s.check(name, changes[name]); err != nil {
			return err
		}
	}
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		before, _, err := s.read(&tx.Reader)
		if err != nil {
			return err
		}
		after := maps.Clone(before)
		for _, name := range names {
			apply(after, name, changes[name])
		}
		if _, err := read(after, s.Given); err != nil {
			return refused(err)
		}
		if err := s.write(tx, after); err != nil {
			return err
		}
		return audit(ctx, tx, before, after)
	})
	if err != nil {
		return base.Unavailable(err)
	}
	return s.follow(ctx)
}

// check refuses a change that is invalid regardless of other settings.
func (s *Service) check(name string, value *string) error {
	if normalize().Lookup(name) == nil {
		return app.Invalid("values", "has the setting %q, which can't be changed while the server runs", name)
	}
	if err := s.isFixed(name); err != nil {
		return err
	}
	if name != "backup-dir" || value == nil || *value == "" {
		return nil
	}
	if !filepath.IsAbs(*value) {
		return app.Invalid("backup-dir", "must be a path that begins with /")
	}
	if info, err := os.Stat(*value); err != nil || !info.IsDir() {
		return app.Invalid("backup-dir", "must be a directory on the server; make it with mkdir -p %s", *value)
	}
	return nil
}

// refused converts an error about a flag to one about a setting.
func refused(err error) error {
	words, _, _ := strings.Cut(err.Error(), "\n")
	name, rest, ok := strings.Cut(strings.TrimPrefix(words, "--"), " ")
	if !ok {
		return app.Errorf(app.CodeValidation, "%s", words)
	}
	return app.Errorf(app.CodeValidation, "`%s` %s", strings.TrimSuffix(name, ":"), strings.ReplaceAll(rest, "--", ""))
}

// apply changes one of the stored values. The secret of a webhook is deleted with it.
func apply(values map[string]string, name string, value *string) {
	if value != nil && *value != "" {
		values[name] = strings.TrimSpace(*value)
		return
	}
	delete(values, name)
	if name == "alert-webhook" {
		delete(values, "alert-webhook-secret")
	}
}

func audit(ctx context.Context, tx *db.Tx, before, after map[string]string) error {
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] == after[name] {
			continue
		}
		say := func(values map[string]string) any {
			if value, ok := values[name]; ok {
				return map[string]string{"value": Shown(name, value)}
			}
			return nil
		}
		if err := base.Audit(ctx, tx, "", "settings.update", name, say(before), say(after)); err != nil {
			return err
		}
	}
	return nil
}

// read returns the stored values, and in sealed form.
func (s *Service) read(r *db.Reader) (values map[string]string, sealed []byte, err error) {
	values = map[string]string{}
	sealed, err = r.Setting(db.SealedSetting + storedSetting)
	if errors.Is(err, db.ErrNotFound) {
		return values, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := s.SealedSetting(r, storedSetting)
	if err == nil {
		err = json.Unmarshal(text, &values)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the stored settings: %w", err)
	}
	return values, sealed, nil
}

func (s *Service) write(tx *db.Tx, values map[string]string) error {
	text, err := json.Marshal(values, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode settings: %w", err)
	}
	return s.SetSealedSetting(tx, storedSetting, text)
}

// Load applies the stored values at the start.
func (s *Service) Load(ctx context.Context) error { return s.follow(ctx) }

// Tick applies values that another process stored.
func (s *Service) Tick(changed bool) {
	if !changed {
		return
	}
	if err := s.follow(s.Claiming); err != nil && s.Claiming.Err() == nil {
		s.LogUnlessUnavailable("follow the stored settings", err)
	}
}

// follow applies the stored values if they changed.
func (s *Service) follow(ctx context.Context) error {
	if s.Given == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var values map[string]string
	var sealed []byte
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		sealed, err = r.Setting(db.SealedSetting + storedSetting)
		if errors.Is(err, db.ErrNotFound) {
			sealed, err = nil, nil
		}
		if err != nil || slices.Equal(sealed, s.seen) {
			return err
		}
		values, sealed, err = s.read(r)
		return err
	})
	if err != nil || values == nil {
		return err
	}
	s.seen, s.stored = sealed, values
	s.Use(s.validStored())
	return nil
}

// validStored returns the flags with all valid stored values. s.mu is held.
func (s *Service) validStored() *Flags {
	good := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.stored)) {
		if s.isFixed(name) != nil {
			continue
		}
		good[name] = s.stored[name]
		if _, err := read(good, s.Given); err != nil {
			s.Log.Error("a stored setting can't be used; the default counts", "setting", name, "err", err)
			delete(good, name)
		}
	}
	out, err := read(good, s.Given)
	if err != nil { // given values were validated at the start
		s.Log.Error("the stored settings can't be used", "err", err)
		out, _ = read(s.Given)
	}
	return out
}
