import { redirect } from '@tanstack/react-router'
import { signUpMode } from '../service-facts.ts'
import { currentToken } from './token.ts'

/** Leads from an address that needs a session to the sign-in, or to the first account of an installation, and then back to it. */
export function needSession({ href }: { readonly href: string }): void {
  if (currentToken() !== null) return
  throw redirect({ to: signUpMode === 'first' ? '/sign-up' : '/sign-in', search: { to: href } })
}
