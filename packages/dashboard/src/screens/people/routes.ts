import { mailedPages } from '@keyrail/contract/mailed-pages'
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../../root-route.tsx'
import { returnTo } from './return-to.ts'

/** Pages before the sign-in, and those that mailed links open. */
export const peopleRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/sign-in',
    validateSearch: returnTo,
    component: lazyRouteComponent(() => import('./sign-in.tsx'), 'SignIn'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/sign-up',
    validateSearch: returnTo,
    component: lazyRouteComponent(() => import('./sign-up.tsx'), 'SignUp'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: mailedPages.resetPassword,
    component: lazyRouteComponent(() => import('./reset-password.tsx'), 'ResetPassword'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: mailedPages.verifyEmail,
    component: lazyRouteComponent(() => import('./verify-email.tsx'), 'VerifyEmail'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: mailedPages.acceptInvite,
    component: lazyRouteComponent(() => import('./accept-invite.tsx'), 'AcceptInvite'),
  }),
] as const
