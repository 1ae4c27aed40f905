import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { documentsWithText, readDocument } from './documents.ts'
import {
  brokenLinks,
  type Check,
  linksOf,
  missingFiles,
  missingPaths,
  missingRuns,
  missingScripts,
  targetOf,
} from './page-checks.ts'

const pages = documentsWithText()

const checks: [guarantee: string, check: Check, sound: string, broken: string[]][] = [
  [
    'every link of a page to another or within it leads to something',
    brokenLinks,
    '# A heading\n\n[a](docs/errors.md) [b](#a-heading) [c](https://example.com)',
    ['[a](docs/none.md)', '[a](README.md#none)', '[a](#none)'],
  ],
  [
    'every path of the checkout that a page names exists',
    missingPaths,
    '`bin/node.mjs` `drills/` `packages/*/src/`\n\n```sh\nsh examples/first-request.sh\n```',
    ['`bin/none.mjs`', '`drillz/`, `docs/none/`', '```sh\nsh examples/none.sh\n```', '`node bin/none.mjs x`'],
  ],
  [
    'every file that a page names by the end of its path exists',
    missingFiles,
    '`actions.ts` `gate/right.ts` `0001_workspaces.sql`',
    ['`nothing.ts`', '`gate/actions.ts`'],
  ],
  [
    'every npm script that a page names exists, and so does its file',
    missingScripts,
    '`npm start`, `npm test -- docs`, `npm run bench -- g1`, `npm run dev -w packages/dashboard`',
    ['npm run nothing', '`npm run dev:none`', '`npm run dev`', '`npm run dev -w packages/sdk`'],
  ],
  [
    'every promise, drill and bench that a page names exists',
    missingRuns,
    'P1 and P9, p18, G6R, `npm run bench -- g6r`, p99, P-256',
    ['p9', 'P99', 'g6x', '`npm run drills -- p16`', 'G99'],
  ],
]

for (const [guarantee, check, sound, broken] of checks) {
  describe(guarantee, () => {
    test('on every page', () => {
      for (const page of pages) assert.deepEqual(check(page), [], page.path)
    })
    test('and a page that names something else is found', () => {
      assert.deepEqual(check({ path: 'PAGE.md', text: sound }), [])
      for (const text of broken) assert.equal(check({ path: 'PAGE.md', text }).length, 1, text)
    })
  })
}

test('docs/README.md links to every page of docs/ exactly once', () => {
  const index = { path: 'docs/README.md', text: readDocument('docs/README.md') }
  const linked = linksOf(index).map(link => targetOf(index, link))
  assert.deepEqual(
    linked.filter(path => path.startsWith('docs/')).toSorted(),
    pages.map(({ path }) => path).filter(path => path.startsWith('docs/') && path !== index.path),
  )
})
