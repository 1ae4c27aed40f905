/**
 * A place of the dashboard to which a sign-in or a new account leads: a path behind a single `/`. A link of a stranger may hold
 * anything else: another host, which browsers also read out of `//`, `/\` and of signs that they drop, or a scheme.
 */
const ownPlace = /^\/(?!\/)[^\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u

/** What of the address is a place to go to afterwards. Undefined, not absent: the router would keep what the address says. */
export function returnTo({ to }: Record<string, unknown>): { to?: string | undefined } {
  if (typeof to !== 'string' || !ownPlace.test(to)) return { to: undefined }
  const { origin, pathname } = URL.parse(to, 'https://dashboard.invalid') ?? {}
  // A path such as `/.//host` turns into `//host` where it is resolved.
  const isOwn = origin === 'https://dashboard.invalid' && pathname?.startsWith('//') === false
  return { to: isOwn ? to : undefined }
}
