// Command image makes a container image for several architectures as an OCI image layout in a tar
// archive, without a Docker daemon:
//
//	image -out FILE -version VERSION -revision COMMIT -epoch SECONDS amd64=BINARY arm64=BINARY
//
// Equal arguments make equal bytes. The image contains the binary, certificates of authorities
// (Mozilla's, without those that it trusts for certain certificates only), /tmp and /data.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the user and the group of the server in the image.
const user = 65532

// release is what all architectures share.
type release struct {
	version, revision string
	time              time.Time
}

func main() {
	log.SetFlags(0)
	out := flag.String("out", "", "archive to write")
	var r release
	flag.StringVar(&r.version, "version", "", "version of the program")
	flag.StringVar(&r.revision, "revision", "", "commit of the program")
	epoch := flag.Int64("epoch", 0, "time of all files, in seconds since 1970")
	flag.Parse()
	r.time = time.Unix(*epoch, 0).UTC()
	if err := r.write(*out, flag.Args()); err != nil {
		log.Fatal("image: ", err)
	}
}

// write writes the archive with an image for each ARCHITECTURE=BINARY.
func (r *release) write(out string, binaries []string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		architecture, binary, ok := strings.Cut(b, "=")
		if !ok {
			return fmt.Errorf("ARCHITECTURE=BINARY expected, not %q", b)
		}
		image, err := r.image(architecture, binary)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	// The layout's own index names one image, which is the index of the architectures: a tool that
	// copies the layout to a registry takes all of them.
	tagged := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add:        index,
		Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version}},
	})
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := layout.Write(dir, tagged); err != nil {
		return err
	}
	return r.archive(out, dir)
}

// image returns the image of one architecture.
func (r *release) image(architecture, binary string) (v1.Image, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	base, err := r.layer([]entry{
		{name: "data/", mode: 0o700, owner: user},
		{name: "tmp/", mode: 0o1777},
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte(fmt.Sprintf("root:x:0:\nmailer:x:%d:\n", user))},
		{name: "etc/passwd", mode: 0o644, content: []byte(fmt.Sprintf("root:x:0:0:root:/:/\nmailer:x:%[1]d:%[1]d:Mailer:/data:/\n", user))},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates()},
	})
	if err != nil {
		return nil, err
	}
	own, err := r.layer([]entry{
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/mailer", mode: 0o755, content: program},
	})
	if err != nil {
		return nil, err
	}
	config := &v1.ConfigFile{
		OS: "linux", Architecture: architecture, Created: v1.Time{Time: r.time},
		Config: v1.Config{
			User:         fmt.Sprintf("%[1]d:%[1]d", user),
			Entrypoint:   []string{"/usr/bin/mailer"},
			Cmd:          []string{"serve", "--migrate"},
			Env:          []string{"PATH=/usr/bin", "MAILER_LISTEN=0.0.0.0:3000", "MAILER_DB=/data/mailer.db"},
			ExposedPorts: map[string]struct{}{"3000/tcp": {}},
			Volumes:      map[string]struct{}{"/data": {}},
			WorkingDir:   "/data",
			Labels: map[string]string{
				"org.opencontainers.image.title":    "Mailer",
				"org.opencontainers.image.licenses": "MIT",
				"org.opencontainers.image.version":  r.version,
				"org.opencontainers.image.revision": r.revision,
				"org.opencontainers.image.created":  r.time.Format(time.RFC3339),
			},
		},
	}
	image, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), config)
	if err != nil {
		return nil, err
	}
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	for _, layer := range []v1.Layer{base, own} {
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
			History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "mailer " + r.version}}); err != nil {
			return nil, err
		}
	}
	return image, nil
}

// entry is a file of a layer; a directory if its name ends with a slash.
type entry struct {
	name    string
	mode    int64
	owner   int // user and group
	content []byte
}

func (r *release) layer(entries []entry) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		kind := byte(tar.TypeReg)
		if strings.HasSuffix(e.name, "/") {
			kind = tar.TypeDir
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: kind, Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner,
			Size: int64(len(e.content)), ModTime: r.time, Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
}

// certificates returns the certificates of the authorities in PEM.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // PEM can't say it
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}

// archive writes the files of a directory to a tar archive, in the order of their names.
func (r *release) archive(out, dir string) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: r.time, Format: tar.FormatPAX})
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: r.time, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}
