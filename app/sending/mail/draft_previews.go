package mail

import (
	"sync"
	"time"
)

// What is kept of drafts for their previews, in bytes of HTML and text.
const (
	maxKept     = 16 << 20
	maxTeamKept = 8 << 20
	// maxTeamDrafts is how many of a team are kept at once.
	maxTeamDrafts = 32
)

// keptPreviews holds what drafts say for the time that the addresses of their previews
// work. A team that renders much loses its own oldest ones, and nobody else's: where all is
// full, the team with most of it makes room. The zero value is ready.
type keptPreviews struct {
	mu    sync.Mutex
	teams map[string]*teamPreviews
	size  int
}

// teamPreviews are those of a team, oldest first.
type teamPreviews struct {
	drafts []keptDraft
	size   int
}

type keptDraft struct {
	id    string
	shown *PreviewContent
	timer *time.Timer // which lets go of it
}

func (d *keptDraft) size() int { return len(d.shown.HTML) + len(d.shown.Text) }

// record holds what a draft says; false: it is too large to.
func (k *keptPreviews) keep(teamID, id string, shown *PreviewContent) bool {
	d := keptDraft{id: id, shown: shown}
	n := d.size()
	if n > maxTeamKept {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.teams == nil {
		k.teams = map[string]*teamPreviews{}
	}
	for t := k.teams[teamID]; t != nil && (t.size+n > maxTeamKept || len(t.drafts) == maxTeamDrafts); t = k.teams[teamID] {
		k.drop(teamID, 0)
	}
	for k.size+n > maxKept {
		k.drop(k.largest(), 0)
	}
	t := k.teams[teamID]
	if t == nil {
		t = &teamPreviews{}
		k.teams[teamID] = t
	}
	d.timer = time.AfterFunc(previewTTL, func() { k.expire(teamID, id) })
	t.drafts = append(t.drafts, d)
	t.size += n
	k.size += n
	return true
}

// largest is the team that has most.
func (k *keptPreviews) largest() (teamID string) {
	maxSize := -1
	for id, t := range k.teams {
		if t.size > maxSize {
			teamID, maxSize = id, t.size
		}
	}
	return teamID
}

// drop lets go of a team's draft.
func (k *keptPreviews) drop(teamID string, i int) {
	t := k.teams[teamID]
	d := t.drafts[i]
	d.timer.Stop()
	t.drafts = append(t.drafts[:i:i], t.drafts[i+1:]...)
	t.size -= d.size()
	k.size -= d.size()
	if len(t.drafts) == 0 {
		delete(k.teams, teamID)
	}
}

// expire lets go of a draft whose time is over.
func (k *keptPreviews) expire(teamID, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := k.find(teamID, id); i >= 0 {
		k.drop(teamID, i)
	}
}

// find returns where a draft is; -1: it is not kept.
func (k *keptPreviews) find(teamID, id string) int {
	if t := k.teams[teamID]; t != nil {
		for i := range t.drafts {
			if t.drafts[i].id == id {
				return i
			}
		}
	}
	return -1
}

// get returns what a draft says; nil: it is not kept any more.
func (k *keptPreviews) get(teamID, id string) *PreviewContent {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := k.find(teamID, id); i >= 0 {
		return k.teams[teamID].drafts[i].shown
	}
	return nil
}
