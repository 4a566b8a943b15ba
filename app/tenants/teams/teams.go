package teams

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// CreateTeam adds a team. A name has 1 to 100 characters. Errors: CodeValidation, CodeConflict for
// a name that exists.
func (s *Service) CreateTeam(ctx context.Context, name string) (app.Team, error) {
	name, err := teamName(name)
	if err != nil {
		return app.Team{}, err
	}
	t := app.Team{ID: app.NewID(), Name: name, CreatedAt: clock.Now()}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := checkNameFree(&tx.Reader, name); err != nil {
			return err
		}
		if err := tx.InsertTeam(t); err != nil {
			return err
		}
		return base.Audit(ctx, tx, t.ID, "team.create", t.ID, nil, map[string]any{"name": name})
	})
	if err != nil {
		return app.Team{}, base.Unavailable(err)
	}
	return t, nil
}

func teamName(name string) (string, error) { return CheckName("name", name) }

// MaxName is the longest name of a team, in characters.
const MaxName = 100

// CheckName validates and normalizes the name of a team. The name appears in mail and on pages of
// this server, so it must not contain an address that a reader could follow, nor characters that
// change how the surrounding text reads. Errors: CodeValidation, which names the field.
func CheckName(field, name string) (string, error) {
	name = strings.TrimSpace(name)
	if n := len([]rune(name)); n < 1 || n > MaxName {
		return "", app.Invalid(field, "must be 1 to %d characters long", MaxName)
	}
	if app.HasHidden(name) {
		return "", app.Invalid(field, "must not contain control characters or invisible formatting")
	}
	if containsAddress(name) {
		return "", app.Invalid(field, "must not contain a web address, a host name or an email address")
	}
	return name, nil
}

// dots maps characters that host names may contain instead of a dot (UTS #46).
var dots = strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61", ".")

// containsAddress reports whether programs could turn a part of a text into a link: a URL, a host
// name, an IP address or an email address.
func containsAddress(text string) bool {
	text = norm.NFKC.String(dots.Replace(text))
	if strings.Contains(text, "://") {
		return true
	}
	parts := strings.FieldsFunc(text, func(r rune) bool {
		return !(unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == '.' || r == '-')
	})
	return slices.ContainsFunc(parts, isHost)
}

func isHost(text string) bool {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Is4()
	}
	labels := strings.FieldsFunc(text, func(r rune) bool { return r == '.' })
	if len(labels) < 2 {
		return false
	}
	top := labels[len(labels)-1]
	notLetter := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }
	return strings.HasPrefix(strings.ToLower(top), "xn--") || utf8.RuneCountInString(top) > 1 && !strings.ContainsFunc(top, notLetter)
}

// checkNameFree returns nil if no team has a name. Errors: CodeConflict.
func checkNameFree(r *db.Reader, name string) error {
	exists, err := r.HasTeamNamed(name)
	if err == nil && exists {
		err = app.Errorf(app.CodeConflict, "A team named %q exists already", name)
	}
	return err
}

// ListTeams returns all teams, oldest first.
func (s *Service) ListTeams(ctx context.Context) (teams []app.Team, err error) {
	teams, err = db.Get(ctx, s.DB, (*db.Reader).ListTeams)
	return teams, base.Unavailable(err)
}

// FindTeam returns a team by id or name; an empty string selects the first team. Errors:
// CodeNotFound; CodeConflict for a name that several teams have.
func (s *Service) FindTeam(ctx context.Context, nameOrID string) (team app.Team, err error) {
	team, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.Team, error) { return r.FindTeam(nameOrID) })
	return team, base.Unavailable(teamNotFound(nameOrID, err))
}

// teamNotFound turns db.ErrNotFound into an error that names the team.
func teamNotFound(nameOrID string, err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return app.Errorf(app.CodeNotFound, "There is no team %q; `mailer teams list` shows all teams", nameOrID)
	}
	return err
}

// RenameTeam changes the name of a team. Names follow the rules of CreateTeam. Errors:
// CodeValidation, CodeNotFound, CodeConflict for a name that another team has.
func (s *Service) RenameTeam(ctx context.Context, team *app.Team, name string) (app.Team, error) {
	name, err := teamName(name)
	if err != nil {
		return app.Team{}, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error { return s.RenameInTx(ctx, tx, team.ID, name, true) })
	renamed := *team
	renamed.Name = name
	return renamed, base.Lookup("team", err)
}

// RenameInTx is RenameTeam inside a Write, for a name that CheckName returned. unique refuses a
// name that another team has. It is for operators only: a team that renames itself must not learn
// the names of other teams.
func (s *Service) RenameInTx(ctx context.Context, tx *db.Tx, teamID, name string, unique bool) error {
	before, err := tx.TeamName(teamID)
	if err != nil || before == name {
		return err
	}
	if unique {
		if err := checkNameFree(&tx.Reader, name); err != nil {
			return err
		}
	}
	if err := tx.RenameTeam(teamID, name); err != nil {
		return err
	}
	tx.AfterCommit(s.keys.Clear) // cached keys hold the name
	return base.Audit(ctx, tx, teamID, "team.rename", teamID, map[string]any{"name": before}, map[string]any{"name": name})
}
