/** Time zones of the area codes of the United States and Canada. Pure. */

/** The zones of the table, by letter. */
const ZONES = {
  N: "America/St_Johns",
  G: "America/Goose_Bay",
  A: "America/Halifax",
  B: "America/Moncton",
  // Atlantic, Eastern, Central and Mountain time without summer time.
  a: "America/Puerto_Rico",
  e: "America/Panama",
  c: "America/Regina",
  m: "America/Phoenix",
  E: "America/New_York",
  C: "America/Chicago",
  M: "America/Denver",
  P: "America/Los_Angeles",
  K: "America/Anchorage",
  D: "America/Adak",
  H: "Pacific/Honolulu",
  T: "America/Toronto",
  W: "America/Winnipeg",
  L: "America/Edmonton",
  V: "America/Vancouver",
  Y: "America/Whitehorse",
} as const;

/**
 * State or province, the zones of its codes, and the codes. A code in two zones, or overlaid on such a region, has its
 * own line. Codes of islands belong to other countries, and are not in the table.
 */
const TABLE = `
AL C 205 251 256 334 659 938
AK KD 907
AZ m 480 520 602 623
AZ mM 928
AR C 327 479 501 870
CA P 209 213 279 310 323 341 350 357 369 408 415 424 442 510 530 559 562 619 626 628 650 657 661 669 707 714 738 747 760
CA P 805 818 820 831 837 840 858 909 916 925 949 951
CO M 303 719 720 748 970 983
CT E 203 475 860 959
DC E 202 771
DE E 302
FL E 239 305 321 324 352 386 407 561 645 656 689 727 728 754 772 786 813 863 904 941 954
FL EC 448 850
GA E 229 404 470 478 678 706 762 770 912 943
HI H 808
IA C 319 515 563 641 712
ID MP 208 986
IL C 217 224 309 312 331 447 464 618 630 708 730 773 779 815 847 861 872
IN E 260 317 463 765
IN EC 219 574 812 930
KS C 316 913
KS CM 620 785
KY E 502 859
KY EC 270 364 606
LA C 225 318 337 457 504 985
MA E 339 351 413 508 617 774 781 857 978
MD E 227 240 301 410 443 667
ME E 207
MI E 231 248 269 313 517 586 616 679 734 810 947 989
MI EC 906
MN C 218 320 507 612 651 763 924 952
MO C 235 314 417 557 573 636 660 816 975
MS C 228 471 601 662 769
MT M 406
NC E 252 336 472 704 743 828 910 919 980 984
ND CM 701
NE C 402 531
NE CM 308
NH E 603
NJ E 201 551 609 640 732 848 856 862 908 973
NM M 505 575
NV P 702 725
NV MP 775
NY E 212 315 329 332 347 363 516 518 585 607 624 631 646 680 716 718 838 845 914 917 929 934
OH E 216 220 234 283 326 330 380 419 436 440 513 567 614 740 937
OK C 405 539 572 580 918
OR P 503 971
OR MP 458 541
PA E 215 223 267 272 412 445 484 570 582 610 717 724 814 835 878
RI E 401
SC E 803 821 839 843 854 864
SD CM 605
TN E 865
TN C 615 629 731 901 931
TN EC 423
TX C 210 214 254 281 325 346 361 409 430 432 469 512 621 682 713 726 737 806 817 830 832 903 936 940 945 956 972 979
TX M 915
UT M 385 435 801
VA E 276 434 540 571 686 703 757 804 826 948
VT E 802
WA P 206 253 360 425 509 564
WI C 262 274 353 414 534 608 715 920
WV E 304 681
WY M 307

AB L 368 403 587 780 825
BC V 604
BC VLm 236 250 257 672 778
MB W 204 431 584
NB B 428 506
NL NG 709 879
NS A 782 902
ON T 226 249 289 343 365 382 387 416 437 519 548 613 647 683 705 742 753 905 942
ON TWe 807
QC T 263 354 438 450 468 514 579 819 873
QC TAa 367 418 581
SK cL 306 474 639
YT YLWTe 867
`;

/** Every area code of the table, with its time zones (IANA). */
export const AREA_CODES: readonly (readonly [code: string, zones: readonly string[]])[] = TABLE.split("\n").flatMap(
  (line) => {
    const [, letters = "", ...codes] = line.split(" ");
    const zones = [...letters].map((letter) => ZONES[letter as keyof typeof ZONES]);
    return codes.map((code) => [code, zones] as const);
  },
);

const ZONES_BY_CODE: ReadonlyMap<string, readonly string[]> = new Map(AREA_CODES);

/** The time zones of an area code of the United States or Canada; null for any other code. */
export function zonesOfAreaCode(code: string): readonly string[] | null {
  return ZONES_BY_CODE.get(code) ?? null;
}
