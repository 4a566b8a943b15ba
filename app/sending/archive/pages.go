package archive

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/brand"
	"mailer/db"
)

const (
	// pageSize is how many issues a page of an archive shows, feedSize how many a feed has.
	pageSize = 50
	feedSize = 20
	// maxForms is how many forms of a team are searched for one with a topic.
	maxForms = 100
)

// View is what the pages and feeds of an archive show.
type View struct {
	Team    string
	Brand   brand.Brand
	Topic   app.Topic
	Base    string // URL of the host, without a final slash
	URL     string // of the archive: the canonical one
	FormURL string // of a form for the topic; empty: none
	Issues  []app.Issue
	Older   string // id of the last issue if there are more; empty: no
}

// IssueURL returns the canonical URL of an issue.
func (v *View) IssueURL(id string) string { return v.Base + "/a/" + v.Topic.ID + "/" + id }

// FeedURL returns the URL of a feed: feed.xml or feed.json.
func (v *View) FeedURL(name string) string { return v.Base + "/a/" + v.Topic.ID + "/" + name }

// Home is what the own host of a team shows at its root.
type Home struct {
	Team   string
	Brand  brand.Brand
	Base   string
	Topics []app.Topic
}

// HomeAt returns the public archives of the team whose own host a host is, and, if there is one alone,
// that archive. Error: CodeNotFound.
func (s *Service) HomeAt(ctx context.Context, host, after string) (*Home, *View, error) {
	teamID, err := s.hosts.TeamAt(ctx, host)
	if err != nil {
		return nil, nil, err
	}
	if teamID == "" {
		return nil, nil, app.NotFound("page")
	}
	home := &Home{}
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if home.Topics, err = r.ArchivedTopics(teamID); err != nil {
			return err
		}
		home.Brand, err = s.brandOf(r, teamID)
		return err
	})
	if err != nil {
		return nil, nil, base.Lookup("page", err)
	}
	switch len(home.Topics) {
	case 0:
		return nil, nil, app.NotFound("page")
	case 1:
		v, err := s.ArchiveAt(ctx, host, home.Topics[0].ID, after)
		if err == nil {
			v.URL = v.Base + "/"
		}
		return nil, v, err
	}
	home.Team = home.Brand.Team
	home.Base, err = s.baseAt(ctx, host, teamID)
	return home, nil, err
}

// brandOf returns the brand of a team that is not suspended. Error: db.ErrNotFound.
func (s *Service) brandOf(r *db.Reader, teamID string) (b brand.Brand, err error) {
	suspended, err := r.IsSuspended(teamID)
	if err == nil && suspended {
		err = db.ErrNotFound
	}
	if err != nil {
		return b, err
	}
	return r.Brand(teamID)
}

// ArchiveAt returns the archive of a topic at a host, after an issue; empty: from the last sent. Error:
// CodeNotFound.
func (s *Service) ArchiveAt(ctx context.Context, host, topicID, after string) (*View, error) {
	v, err := s.view(ctx, host, topicID)
	if err != nil {
		return nil, err
	}
	if after != "" {
		id, ok := app.ParseID(after)
		if !ok {
			return nil, app.NotFound("page")
		}
		after = id
	}
	v.Issues, err = db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Issue, error) {
		return r.Issues(v.Topic.TeamID, v.Topic.ID, after, pageSize+1)
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	if len(v.Issues) > pageSize {
		v.Issues = v.Issues[:pageSize]
		v.Older = v.Issues[pageSize-1].ID
	}
	return v, nil
}

// FeedAt is ArchiveAt for the issues of a feed.
func (s *Service) FeedAt(ctx context.Context, host, topicID string) (*View, error) {
	v, err := s.ArchiveAt(ctx, host, topicID, "")
	if err == nil && len(v.Issues) > feedSize {
		v.Issues = v.Issues[:feedSize]
	}
	return v, err
}

// IssueAt returns an issue at a host, with its HTML as it is shown. Error: CodeNotFound.
func (s *Service) IssueAt(ctx context.Context, host, topicID, id string) (*View, *app.Issue, error) {
	v, err := s.view(ctx, host, topicID)
	if err != nil {
		return nil, nil, err
	}
	id, ok := app.ParseID(id)
	if !ok {
		return nil, nil, app.NotFound("page")
	}
	issue, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Issue, error) { return r.Issue(v.Topic.TeamID, v.Topic.ID, id) })
	if err != nil {
		return nil, nil, base.Lookup("page", err)
	}
	link := v.FormURL
	if link == "" {
		link = v.URL
	}
	issue.HTML = strings.ReplaceAll(issue.HTML, app.SignUpLink, link)
	return v, &issue, nil
}

// view returns an archive at a host without its issues. Error: CodeNotFound.
func (s *Service) view(ctx context.Context, host, topicID string) (*View, error) {
	topicID, ok := app.ParseID(topicID)
	if !ok {
		return nil, app.NotFound("page")
	}
	v := &View{}
	var form string
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if v.Topic, err = r.PublicTopic(topicID); err != nil {
			return err
		}
		if v.Brand, err = s.brandOf(r, v.Topic.TeamID); err != nil {
			return err
		}
		form, err = formFor(r, v.Topic.TeamID, topicID)
		return err
	})
	if err != nil {
		return nil, base.Lookup("page", err)
	}
	serves, err := s.hosts.Serves(ctx, host, v.Topic.TeamID)
	if err == nil && !serves {
		err = app.NotFound("page")
	}
	if err != nil {
		return nil, err
	}
	v.Team = v.Brand.Team
	if v.Base, err = s.baseAt(ctx, host, v.Topic.TeamID); err != nil {
		return nil, err
	}
	v.URL = v.Base + "/a/" + topicID
	if form != "" {
		v.FormURL = v.Base + "/f/" + form
	}
	return v, nil
}

// baseAt returns the URL of the host at which the pages of a team are; of a host without a working DNS
// record, that of the request.
func (s *Service) baseAt(ctx context.Context, host, teamID string) (string, error) {
	at, err := s.hosts.BaseOf(ctx, teamID)
	if err != nil || at != "" {
		return at, err
	}
	return (&url.URL{Scheme: "https", Host: host}).String(), nil
}

// formFor returns the id of the oldest form of a team for a topic; empty: none.
func formFor(r *db.Reader, teamID, topicID string) (string, error) {
	forms, err := r.FormsAfter(teamID, "", maxForms)
	for i := range forms {
		if slices.ContainsFunc(forms[i].Topics, func(t app.FormTopic) bool { return t.ID == topicID }) {
			return forms[i].ID, nil
		}
	}
	return "", err
}
