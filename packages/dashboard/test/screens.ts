import { mailedPages } from '@keyrail/contract/mailed-pages'
import { sourceFiles } from '../../server/test/source-files.ts'

/** An address of the router, as its `routes.ts` names it. */
interface Route {
  readonly path: string
  /** Inside of the shell, so only for a person in a workspace. */
  readonly isInShell: boolean
}

const declaration = /getParentRoute: \(\) => (\w+),\s*path: (?:'([^']+)'|mailedPages\.(\w+))/g
const mailed: Readonly<Record<string, string>> = mailedPages

/** Every address of the dashboard. Its own modules are not for Node, so this reads their text. */
export const declaredRoutes: readonly Route[] = sourceFiles(
  'packages/dashboard/src/screens/*/routes.ts',
).flatMap(({ code }) =>
  [...code.matchAll(declaration)].map(([, parent, path, page = '']) => ({
    path: path ?? mailed[page] ?? '',
    isInShell: parent === 'shellRoute',
  })),
)

/** The address of a route in the browser. */
export const addressOf = (path: string) => (Object.values(mailed).includes(path) ? path : `/app${path}`)
