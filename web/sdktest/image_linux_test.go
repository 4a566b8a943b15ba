package sdktest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// container is an unpacked image, whose program runs as the image's user with the image's root
// directory as its own.
type container struct {
	root   string
	config imageConfig
}

type imageConfig struct {
	User            string
	Entrypoint, Cmd []string
	Env             []string
	WorkingDir      string
}

// TestImage runs the program of a container image as a container runtime would: setup, send, kill,
// restart, migrate. MAILER_IMAGE names the archive, which .ci/release makes.
func TestImage(t *testing.T) {
	part(t, "image")
	archive := os.Getenv("MAILER_IMAGE")
	need(t, archive != "" && os.Geteuid() == 0, "MAILER_IMAGE, which names the archive of an image, and root to change the root directory")
	c := unpack(t, archive)
	relay := newSink(t, sinkOptions{})
	in := newInstance(t, "--relay", "the image's environment has it")
	in.db = filepath.Join(c.root, "data/mailer.db")
	in.begin = func(cmd *exec.Cmd) error {
		c.contain(cmd, c.config.Cmd...)
		cmd.Env = append(cmd.Env, "MAILER_LISTEN="+in.addr, "MAILER_RELAY=smtp://"+relay.addr+"?tls=off")
		return cmd.Start()
	}
	in.serve(t)
	eventually(t, time.Minute, "the setup link is printed", func() (bool, string) {
		log := string(in.log(t))
		return strings.Contains(log, in.url+"/dashboard/setup#"), log
	})
	c.run(t, "domains", "add", "example.test", "--trust")
	api := client{in.url, c.run(t, "keys", "create", "--name", "image", "--permission", "full_access")}
	before := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "before", "text": "x"})
	in.kill(t)
	if out, err := c.command("status", "--live", "--listen", in.addr).CombinedOutput(); err == nil {
		t.Errorf("a killed server passes for live: %s", out)
	}
	if out := c.run(t, "migrate"); !strings.Contains(out, "/data/mailer.db is up to date") {
		t.Errorf("migrate says %q", out)
	}
	in.serve(t)
	c.run(t, "status", "--live", "--listen", in.addr)
	after := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "after", "text": "x"})
	for _, id := range []string{before, after} {
		api.waitLast(t, id, time.Minute, "sent")
	}
	if res, err := http.Get("http://" + in.addr + "/healthz"); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("GET /healthz: %v, %v", res, err)
	}
}

// A volume that belongs to another user is refused with the command that helps.
func TestImageWithForeignVolume(t *testing.T) {
	part(t, "image")
	archive := os.Getenv("MAILER_IMAGE")
	need(t, archive != "" && os.Geteuid() == 0, "MAILER_IMAGE, which names the archive of an image, and root to change the root directory")
	c := unpack(t, archive)
	must(t, os.Chown(filepath.Join(c.root, "data"), 0, 0))
	must(t, os.Chmod(filepath.Join(c.root, "data"), 0o755))
	cmd := c.command(c.config.Cmd...)
	cmd.Env = append(cmd.Env, "MAILER_LISTEN="+freeAddr(t))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "chown 65532") {
		t.Errorf("%v\n%s", err, out)
	}
}

// contain makes a command run the image's program with its environment.
func (c *container) contain(cmd *exec.Cmd, args ...string) {
	cmd.Path, cmd.Args, cmd.Dir = c.config.Entrypoint[0], slices.Concat(c.config.Entrypoint, args), c.config.WorkingDir
	cmd.Env, cmd.Err = slices.Clone(c.config.Env), nil
	cmd.SysProcAttr = endWithParent()
	cmd.SysProcAttr.Chroot = c.root
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65532, Gid: 65532}
}

func (c *container) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.config.Entrypoint[0])
	c.contain(cmd, args...)
	return cmd
}

// run runs a command of the program and returns its standard output.
func (c *container) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := c.command(args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("mailer %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// descriptor is a part of an OCI image layout.
type descriptor struct {
	MediaType, Digest string
	Platform          struct{ Architecture string }
}

// unpack unpacks the image of this machine's architecture.
func unpack(t *testing.T, archive string) *container {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(archive)
	must(t, err)
	defer f.Close()
	extract(t, dir, f)
	blob := func(digest string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, "blobs", strings.Replace(digest, ":", "/", 1)))
		must(t, err)
		return b
	}
	var index struct{ Manifests []descriptor }
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	must(t, err)
	must(t, json.Unmarshal(text, &index))
	if len(index.Manifests) != 1 {
		t.Fatalf("%d images in the layout, one index expected", len(index.Manifests))
	}
	must(t, json.Unmarshal(blob(index.Manifests[0].Digest), &index))
	at := slices.IndexFunc(index.Manifests, func(d descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
	if at < 0 || len(index.Manifests) != 2 {
		t.Fatalf("no image for %s, or not two: %+v", runtime.GOARCH, index.Manifests)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	must(t, json.Unmarshal(blob(index.Manifests[at].Digest), &manifest))
	var config struct{ Config imageConfig }
	must(t, json.Unmarshal(blob(manifest.Config.Digest), &config))
	if config.Config.User != "65532:65532" {
		t.Errorf("the image's user is %q", config.Config.User)
	}
	// Its parents must be open to the image's user, as t.TempDir's are not.
	root, err := os.MkdirTemp("", "image")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(root)) })
	must(t, os.Chmod(root, 0o755))
	for _, layer := range manifest.Layers {
		r, err := gzip.NewReader(bytes.NewReader(blob(layer.Digest)))
		must(t, err)
		extract(t, root, r)
	}
	return &container{root, config.Config}
}

// extract unpacks a tar archive with modes and, for root, owners.
func extract(t *testing.T, dir string, from io.Reader) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			must(t, os.MkdirAll(path, 0o755))
		} else {
			content, err := io.ReadAll(r)
			must(t, err)
			must(t, os.WriteFile(path, content, 0o644))
		}
		must(t, os.Chown(path, h.Uid, h.Gid))
		must(t, os.Chmod(path, h.FileInfo().Mode()))
	}
}
