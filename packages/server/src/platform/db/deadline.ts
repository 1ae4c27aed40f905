/** A request is answered within this, or with 503, however many questions it has for the store. */
export const deadlineMs = 1_900
