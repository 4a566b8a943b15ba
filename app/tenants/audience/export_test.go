package audience

import (
	"context"

	"mailer/app/base"
	"mailer/app/rules/contactfile"
)

// What the tests of this package from outside reach into it for.

const (
	ImportPiece         = importPiece
	ImportRows          = importRows
	MaxImportFailures   = maxImportFailures
	ImportYield         = importYield
	MaxOpenImports      = maxOpenImports
	MaxScans            = maxScans
	MaxOptInsPerAddress = maxOptInsPerAddress
	MaxOptInsPerClient  = maxOptInsPerClient
)

var (
	ErrErasing = errErasing
	ErrGone    = errGone
)

// OpenImports is how many files are open. The importer must be idle.
func (s *Imports) OpenImports() int { return len(s.imports.runs) }

func (s *Service) Scans() *base.TeamSemaphore { return s.scans }

func (s *Imports) RunImports(ctx context.Context) { s.runImports(ctx) }

type ImportRun = importRun

// NewImportRun is the work on an import, whose rows are to be set.
func NewImportRun(s *Imports, i contactfile.Import) *importRun { return &importRun{s: s, imp: i} }

func (run *importRun) S() *Imports { return run.s }

func (run *importRun) I() *contactfile.Import { return &run.imp }

// Open sets the rows of the file to be read, after those that are done.
func (run *importRun) Open(ctx context.Context) error { return run.open(ctx) }

func (run *importRun) Read() (batch importBatch, err error) { return run.read() }

func (run *importRun) Write(ctx context.Context, batch importBatch) error {
	run.batch = &batch
	return run.write(ctx)
}

// Step works off one batch, as the importer does.
func (run *importRun) Step(ctx context.Context) error { return run.step(ctx) }
