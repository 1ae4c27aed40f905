/** The pages that mailed links open, below the public URL of the service. The token follows them as `#token=…`. */
export const mailedPages = {
  verifyEmail: '/verify-email',
  resetPassword: '/reset-password',
  acceptInvite: '/accept-invite',
} as const
