/** Tags of the optional parameters that this adapter reads or writes (SMPP 3.4, 5.3.2). */

/** The id of the message that a receipt is about. */
export const RECEIPTED_MESSAGE_ID = 0x001e;
/** The number of a submit_sm, which its receipt may repeat. */
export const USER_MESSAGE_REFERENCE = 0x0204;
/** The reference that the parts of a longer message share. */
export const SAR_MSG_REF_NUM = 0x020c;
/** How many parts a longer message has. */
export const SAR_TOTAL_SEGMENTS = 0x020e;
/** The position of a part, from 1. */
export const SAR_SEGMENT_SEQNUM = 0x020f;
/** The carrier's error code: the network type, then two octets. */
export const NETWORK_ERROR_CODE = 0x0423;
/** The text in place of short_message. */
export const MESSAGE_PAYLOAD = 0x0424;
/** The state of the message that a receipt is about. */
export const MESSAGE_STATE = 0x0427;
