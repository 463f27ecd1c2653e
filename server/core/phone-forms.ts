/** The written forms of one phone number: carriers report numbers in the form of a former numbering plan too. Pure. */

/** The numbers of a country that have two written forms: between `head` and `rest`, the former plan has other digits than the present one. */
export interface FormRow {
  country: string;
  /** Pattern of the country code, and of an area code that comes before the digits. */
  head: string;
  former: string;
  present: string;
  /** Pattern of the digits that both forms end with. */
  rest: string;
  /**
   * Whether both forms always reach one subscriber. If the plan lets them be two, an opt-out by one of them still holds for the other, and
   * nothing else is shared.
   */
  isOneSubscriber: boolean;
  source: string;
}

const BRAZIL = "Anatel, Resolution 553/2010, in force by area from 2012 to 2016: a 9 before the 8 digits of a mobile";

/** The series of each operator are from several public programs for that change, which agree. The list of ARTCI itself was not found. */
const IVORY_COAST =
  "ARTCI, change of 2021-01-31: two digits by operator and kind of line before the former 8; the present series are in libphonenumber 9.0";

/** Mobiles of Moov, MTN and Orange, and then their landlines. A former number has one of the prefixes. */
const IVORIAN: Readonly<Record<string, string>> = {
  "01": "(?:0[1-3]|[457][0-3])\\d{6}",
  "05": "[04-9][4-6]\\d{6}",
  "07": "[04-9][7-9]\\d{6}",
  "21": "2[0-3]8\\d{5}",
  "25": "(?:2[0-4]|3[0-6])0\\d{5}",
  "27": "(?:20[23]|21[2357]|2[23][45]|24[3-5]|306|31[69]|3[2-4]7|359|368)\\d{5}",
};

/** The table. No address is in two rows. */
export const FORM_ROWS: readonly FormRow[] = [
  {
    country: "Mexico",
    head: "\\+52",
    former: "1",
    present: "",
    rest: "[2-9]\\d{9}",
    isOneSubscriber: true,
    source: "IFT, change of 2019-08-03: the 1 of mobiles ended (release notes of libphonenumber 8.10.17)",
  },
  {
    country: "Argentina",
    head: "\\+54",
    former: "",
    present: "9",
    rest: "(?:11\\d{8}|[23]\\d{9})",
    isOneSubscriber: true,
    source:
      "Numbering plan of 1997: area code and number have 10 digits and name one subscriber; the 9 says that it is a mobile",
  },
  {
    country: "Brazil",
    head: "\\+55[1-9][1-9]",
    former: "",
    present: "9",
    rest: "[689]\\d{7}",
    isOneSubscriber: true,
    source: BRAZIL,
  },
  {
    country: "Brazil",
    head: "\\+55[1-9][1-9]",
    former: "",
    present: "9",
    rest: "[2-57]\\d{7}",
    isOneSubscriber: false,
    source: `${BRAZIL}. Landlines (2 to 5) and trunked radio (7) kept 8 digits, and a mobile may have the same after its 9`,
  },
  {
    country: "Benin",
    head: "\\+229",
    former: "",
    present: "01",
    rest: "[24-9]\\d{7}",
    isOneSubscriber: true,
    source: "ARCEP Bénin, change of 2024-11-30: 01 before the 8 digits of every number",
  },
  ...Object.entries(IVORIAN).map(([present, rest]) => ({
    country: "Ivory Coast",
    head: "\\+225",
    former: "",
    present,
    rest,
    isOneSubscriber: true,
    source: IVORY_COAST,
  })),
];

/** One form of a row, and the digits that make it the other one. */
interface WrittenForm {
  pattern: RegExp;
  becomes: string;
  isPresent: boolean;
  row: FormRow;
}

const FORMS: readonly WrittenForm[] = FORM_ROWS.flatMap((row) => {
  const { former, present } = row;
  return [
    { pattern: patternOf(row, former), becomes: present, isPresent: false, row },
    { pattern: patternOf(row, present), becomes: former, isPresent: true, row },
  ];
});

function patternOf({ head, rest }: FormRow, digits: string): RegExp {
  return new RegExp(`^(${head})${digits}(${rest})$`);
}

/** The country codes of the table. Any other address has one form, and costs this test alone. */
const MAY_HAVE_FORMS = /^\+(?:5[245]|22[59])/;

/** The other form of an address; null if it has none. */
function otherForm(address: string): (WrittenForm & { address: string }) | null {
  if (!MAY_HAVE_FORMS.test(address)) return null;
  for (const form of FORMS) {
    const [, head, rest] = form.pattern.exec(address) ?? [];
    if (head !== undefined && rest !== undefined) return { ...form, address: head + form.becomes + rest };
  }
  return null;
}

/** Every form of an address, itself first: an opt-out by one of them holds for all. */
export function formsOf(address: string): readonly string[] {
  const other = otherForm(address);
  return other === null ? [address] : [address, other.address];
}

/** The forms of an address that always reach the same subscriber, itself first. */
export function subscriberForms(address: string): readonly string[] {
  const other = otherForm(address);
  return other?.row.isOneSubscriber === true ? [address, other.address] : [address];
}

/** The key that all forms of a subscriber's address share: the form of the present plan. Any other address is its own key. */
export function phoneKey(address: string): string {
  const other = otherForm(address);
  return other === null || other.isPresent || !other.row.isOneSubscriber ? address : other.address;
}

/** Whether two addresses are forms of one subscriber's. */
export function isSamePhone(one: string, other: string): boolean {
  return one === other || phoneKey(one) === phoneKey(other);
}

/** The address in a list that is the same phone as this address; undefined if there is none. */
export function samePhoneIn(addresses: readonly string[], address: string): string | undefined {
  return addresses.find((one) => isSamePhone(one, address));
}

/** The addresses without those of these phones. */
export function withoutPhones(addresses: readonly string[], phones: readonly string[]): string[] {
  return addresses.filter((one) => samePhoneIn(phones, one) === undefined);
}

/** The addresses, each phone once, in the form that comes first. */
export function distinctPhones(addresses: readonly string[]): string[] {
  return addresses.filter((one, index) => addresses.findIndex((other) => isSamePhone(one, other)) === index);
}

/** The key that two lists share if they name the same people, in any order and form. */
export function peopleKey(addresses: readonly string[]): string {
  return [...new Set(addresses.map(phoneKey))].sort().join(" ");
}
