var __defProp = Object.defineProperty;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __esm = (fn, res, err) => function __init() {
  if (err) throw err[0];
  try {
    return fn && (res = (0, fn[__getOwnPropNames(fn)[0]])(fn = 0)), res;
  } catch (e) {
    throw err = [e], e;
  }
};
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

// src/tables.data.ts
var tables_data_exports = {};
__export(tables_data_exports, {
  packedTables: () => packedTables
});
var packedTables;
var init_tables_data = __esm({
  "src/tables.data.ts"() {
    "use strict";
    packedTables = "H4sIAAAAAAAC/+x9C5BdVbnmv9a/3nv3SSfp7vQ7naTpNE3eJDySJkCUd2ACxgjII0AEtHiJyAwMSoMWRscSiA5DIVIZBhEZZBjUCEilMgwTIIMRvVzMRYqbikDlIpeKqdxUoKLeWmvtfc4+++y1O2i4daXOrpzTvVe+859/Pf5v/Wvt/1/9H6++9oo1awauu+jiKz7zhYGFhhK24syLL4UxBpB7+9so6l+LfX/RB3+Fr8j9fHzceWPYmgPNJuRBCnDJHQgAPQDb2WomNhEA+SABqEwEeFHcBPggQf3f8FTd8ukjmXmpdWKnWMpbLhnk8h3SQ2B/bEZF0dfvxx8QhTvxQg678ZOyshcjsRf7jNiLMyewPUj66D4UahcO8fhd5D1qF8rZai8a9g529MZvYfsqsxNPWEXfRyyQH+/BT/TTHTgFYBdOQ7MbBybtwFmVyhs4q4e9hR2E7cK4cxsurHS+hh1zW3cgzONr2VDlZbx+M6XbcBkdfgj7dqlJO5Hmv+Dy48WvcfaSEx/BQdm1BSeP2OKT78WzWxbfj71In8fui7texjMuuA0Xwxl34UjXyMMo3sHKdlz+E/IAHSO/p7eS1+g1L9JvkU1k6cuzrn2bDm0jAPAIAWBnAMBZAI8RAHKHLb0WAC8H2EQB6Eb7tpUAPEm/DLAVARa9gQDsLQT4yiEPUyD3ImVPkvUIcPRX6aTK1+irGMcFjaT24ycFG2PfI6p7L/5PMr91D55J9+MnJezHM4nYi6fMMLtxMtuHE4jYhy3c7MGW2fFuJK3vooDKu8hM6y6MLmp9BycX9fL7eOVEsR+vbsN9eMOStt14KHsfkbH3EQjdh3go24Mw6R2cpM1upC3mXcQT6B4UR2zCjx858iIu6174DI78kLS9iuIAx/9uHDoMdiO/Qe7B/hkv46TWkx/Ds05a+CyOdi18HNmMnQiwA4Vot79Q+/bLQ15HEzfKIvczCr9j91BTGRP7OMDhu5AT29j99mORfft/h9h2t79BVd6vDnk7Wwb+O7ajMgUKi/14pYA/4dcIq+zB28mM1j14Et2PpyHsx1NQ7MVjbSdMYPtQ2k6IpOsEsxuhvhMurBR3An0fz1ewF2dXcC9+rKeyGznbix0x24udGnahmcp2I2t7AwdY5R00XfHbSA6F/dg6bzMul4Mv4bJJwy/inEVt2wv6gMyFnXjM0Ww79uvD38Fogi0f2IwroeNFnN7DX8X+znW49Ihz1+GyKcsexoWThzdgvJbaRnsdjZlbbbRfuE5osIHHrQ2ss6XXAeA1AM/b4b+NAsCzFOC/xI9RIFYaz3Tn9obm/3vX/GNkE4UxK8xdD5GW7jGyAEyLHjgFFnVUxsi5cBwMnXUOnnPV0Bg5CpZWeufd3PkCfZVcMEZ6YC3p7aXfJitychYN8DEyCo8SesT1l50p2Y1jZBbc2DGy8uqj3ySwnYwRA3eTypxZn+78Z3rCn8gYORqepYsv/nzr0pwkfQt5itjbdbRv4f3kK+RLfyAzt5AxMhX2krblqz+Lcyfb2yNhK+ledkL74jvEZvzfbIzcCPNx4UbyGzphI95Jzh4jS+A5+jwZ/hGZsZPKb9LZY+QGuGgziduuHyPb6VW3kDEyH8Q9xMzpGb5b3k3eI2NEQvvIrDXfp51P6QfJz8kYiWDuWZ3ryHO4JKfnJjKt9YJ5sBh6Fp7ysRnd6l4yD0baBkZPItDd/QAZgDn9A8Pnt/5/8hBZehfpg5W9nfSykZyQ5d0n3LQArhNHnXzshdOmTn+c9MKqoYVHHYNLer5FHiEI18bLzAmVn5GWjWT1bNhIhtcc3tOZE3Lype+R5WvgLnLogvvIou+S75LKqjvIVHiCdMy6fPaSH5I5Z6+eBjtIx4orp573AG4jP8eX6ChMXnnqqv9BJqwjXxxeT6fAzc8QsmjKejKyAJ8hZ8Jpe4jqP2L0Xjr8H8bIDIjuIW0dXYNbcMannqAAXSumL/tC36M445gtdAq0fINUZv1XonN6LZw4cfUoDFa6++fqkUq0kfRDrKYPHkk7lrJtRMCw6e/8TOtvyYOkfzchMEq78eaj8g3Uo9YSAeeRjsXHd51zVPfrhMCQ6uic3/0cGezcRSI4Lz5i5LDW/0WnXXMf6YNXSNcaxqbnpBx/C7mNridL4KbOE0/8/KTP9/fuJO2wuntw4fHip7R93qOEwk7SupJOEK/Ss49/HDV8n8CsnvM/ftUJE96mGlrmRXOOlJ0XTn0UI4C1BAfmV6L15OtkM+2Dpf1sAU5+Am+evAWHYXQOTPzS0a/Szw4+ggCzR1XL6SynzgWCPERaoTVS/eeYG4hZR4ehFdji2ZXPKNhG+4EKmHc4nN4trH0bgbOOacuJ+Owcvp72Qj+f0H905Y8Eul+jR0AXF71y1tVx38vUAKGkrWvxe6S/7zbaBpNNZXHXxTkhb5Jd9E62ng7DlPMrs5beRv6FwOSNZDqMtvauGYTDv/yl4xBiMXhe++pb6ZRlW6mCH5MutnDJpCuPHtlGp8NM2Te90vFzUjn7KToCx04+tBUWfJvwS9fSOfAJc+j0vqU/Jldft4VOgqs72uPBs/876TnjedoCfZ3tWh+X02Z2O72fqBsnTZk4OnvOp4j4NRlZE3Mybyqc06nX07ZVBtjQ4fQUxe+j+sQ2SkemTcqJOEm1vUR6L+jtUssW6dvJfPYTOmekncKpQD/VMnET5YMcKkMT5txJ4il7yMQFnLQd0ZNvldvxxD+SfaSt8jA5duFmMhz/A5l9/d2ksnhkuu3e44fNQrqmlfaeMWXOU6T93F8T8zS5uR26F7HLZh53K450HT55KnQMPkkGV79Bh2cc2zOzD876xIRlO8jw2XNFC3aNzrxk9R7S+S1ympkYiaXzJ6x8msSvkBmVCWwa5JRZUpl0xfDnWqEyNJt+WpsNZGAtaeWkfzLcTph6i3R8lRhKBtrFF2O6k7Axwhj0trfmpJw+c2gj6b60Qs1RfeQHpL13Fxn4XEXqUc3fIx3t99HBjwPFfhj6HjXtW0nbNS2tMEJW5aSctvJJ0tZyB1086bTbyOpLXqCT4DYy7y5ynNaL+9UvydDcoenPktY4Xg6z5i1afmPLd+hFCnqj3t+T0zvfJ9NX6mlTOk+c/hztv+pRunTymTMOkced/G1cPLqRjH6TzJDtXdNX/oKcsuJh0r+dHMsmLB2RvyMDg9epe+ghAMMk3zbN2+btQbklFDnX0nCporjkiqLIQoUQSiiPjer/O3sRiszCpJLGRFFkgkI9VColpdIlUHt5qJXqoVEUhaGMcSGkhSvj0YWaRhGliIxzbuFKaxMZY6Lii1JkjHHOhHDqmoAGForosIzzBGoCykaYQNFpbPUNVswjLTSRq4MqeCRjDlqVW6irBzJupTuoa4TCFvBA7qCJCjWhjVBeg9rWrQk1dRdPLmQeLKyuxcPFA4VIoVzKRlUzUoXgzEGRcyF1oF3tuLZXAmWMB6GiBq1qGxgvBVCpi8eLtGNVCMG9toicS1NUfwuV9p+sQq2yAakOKLJQpeJCs5VKWWvNQFlYV2uD2kJTsJCFpmU1UEppxW0vJHJlwGSVtmKlawNusZSJ4j5QUju+EK6HrVyKvNgKpFKREFp5oFeBFTOdJQshhGScpTaGdRpkayUct7hKMT9ghCoyGeP4VforLr2qpGmrFpeScZwhTWN0HObBOOVXWSXNMMNn+NUYY8qwrlpCKlGFBrGOXxkXFp5QcYCJ6/jVcluYiXP8qkxJeyX8yqyhWLElc0yCtB1aroIxWCPNhOIb2qCONP3gY7yc4BOhPMODJVCe8Kudv4TToNi4q/zqsUKaYAs0UHExC3jSdLSZYawgVGT51angemwc0ky1DVGxs0Ipq1AmSljbMqwUVcbiIgiVnmEzpFkCbeDXwIiV7vsPkLWtYVt6q3KmUMU96xggJU3HgyENjBNpteU1FYQunGSlgwqZmY6YCEl1Mo0QLJ3mUDSOWD9vGWm0ksrSezoUAwaulIhjGSk3FyBzHpoqFEsJMjcdKDeF6YAzEiVQR2/GOi060mGn1EK5l1fuZ8axkyqkllpH5oCgynFQodgMEzqCFYlVl4lFx5o8JSFTwtpIPVcwzxZlDJ9YFEMHLa0YS6FerDHl0NQpFeUONEup2IlVrhHiMtJM+FX41g1I5RlXlxVwZqYLRJVf7VqCl1GxyPNr2mSN7q4UWahlrOAkl0pNvJaDxK9KeN+lRprBdUE9Z1FPWcVNkHCmOADSVMIzbI40i0xBO3apc0pDq1S/2FRSJKxJLS0U91eeCa3XE4Bq//11UBWCam0JQwguPBSDUrXWSiuVhRbXKzIOayme27a1ts4Da6PYspVWRvo2sFAhQwtvY70gp4IdNJRSbhd9QU9TKGnVjsd1SlPSNOV7CSkT2tFf7unGCWsnHlbpBkVGqjPVMiqmfoMgcdsLodn9Ac+vVWjAKUWakJYntxJVo3p+DVXMu491/BoFjDWFZkhTl0wwEcMqaXp+DU8bPMOvTMiyHuM1/xXHh9aY0Lm6wTbI+a9S6uL2N8YkpOn3B5wKQakWal3Yqkeogh0reI5fZbAPPgBU1qg40TbYtTIl+Kr/akLjRbqFrJQ173FcqTV+DZp4omsGWrjctZfjVj8X+B5Db40Fl9ZSC09tbsVBWXANI2ItuOZaKmsIjFJuJ/piXeNIykhGWgvbUpRar694HOjkqlI8cctaU3BloIJzwt3qU0hdeCl3uablfofAro9U4+UW0tZ1s8rEetxFv6e3OIqjA+TXss2BFOpZ28TjcHGOX8vAGf+11M2M4yizP6B1cLntroz/WrfcLqLiDL+q0iao91/Dq/gCfjUlXJx6mjQlt7AO9f7rh8WvOgrVqmF/IDWWsFMqas5jOVRk+LWEtR0LZUgzTMUJZ2WW0cHh4jf0qvuvhVuPNaluN6Hm5h0cKj5g0rQuVo6KtSm8tMp7xRikDS2N1H6n1HqEKRUXXUZGus4tx+zwzq0hjLHcJe1YFJRbn1SbqMRwjeZCUMYl4UJKrYvngpRfmbBWRp10UcSsKRlLSdL9Yu9zNV7eKTVKlm18Zh5aSaVEo6MbFT3fEv7pVtCwM7sOCWmOw8X1/FrKWd5/5YL7lWY5NOu/xmHvNee/lnvF9fxa6mvn9geCa/OCRb8pk1rnv45Pmh+y/1qCbeBXHdzWbvBfy/nVDv4D8V+l8G5pjV+L9ibSDYqc/xrmV/8YRByA/6q8T5rZpoxCyirh9x3SxzUJv4ag9a5ull/rqpUs5JV7DOTGeXDuNn5LNcOEQWOMtIi0X5wzt01ZAuUyYlqpdJajTBWvuOPICK251tpOCRwZsz6pKPRJjUo3KET1+RZzJBa+6qDWdBqvev816d6A/5pueFWd3uCVQmXWRS6+ki1NwccRqaSsQuW4WJpUmYlxdU2IkDMh1AFB7SQ0rra1x/cfBCrH0TblbPfYWh0wVJR3QjUogOE4YmU2KICXt21dUIBfPJVAeS1+oLQb6h5a8bC2zmmqQt1TvpJq8ez+a7lVOcquQcvaVninWKRPjku0zccP8LDl1KCptiLcCDlouG0ToTLhgBJtZXpV6SI8brPQVIWyLstBhRpH6njayhSbeNvlI6HJr01+bfJrk1+b/PrR5Fe6YtXfbmLov0HR3Qxg8H17cxPAGLHFmxDgJ2QuAPyJAjziyh5FgKfRAMB3EOAB6oQhwFZ1KsBhOynAVm7LXqMAY2YRwM8GtlCAHaJAiWYHZN/szw2ujff32fetLPDRZxFgHXuFAbzJX0aAb7hOeBABXpd3IMCPuh9GgKfQltr7jdEjFODvDvsGArwsm/0wTtFtBmAT/fOxAOvnu+bmgY8+jQCbxSMI8E/tT9h+cC3+GALsVhsQ4Kc99ve3McXuUQ8hwAszn0eADdjsh3GKvsMAhvYzAPafAG6tEtIGR0iWch52Zbb9X8JBALgHAe6p2sIDyo73O6n9fZtr7ccRYL3eRgF+0/sUArzoDeyjnvmxm/9M+NvJAMOwnS7xd3327j/vSKCXWejXyQO1Tx4K3zVvcH97LsBhH/2W2kz/D4MN9nYjBzgLJhBYDQD3W74lcNSR8GUAeJoCLIA/kGcIbLXQOwhADMuvgi32bimA+Og31H30TYT1FAD2E1vhreSFpDXuIQBTQC8Al8t9sh1lfybXwnZ7dynAIfBj7HFkCK8QgJ5mklbztnnbvP1wb6PXCDxh2eofHTv17aRwOQBogEvgsH0UzgOAVntz8mYKV4ClKbgE+rcRz1szAU5rtugHyTX9d7CXiSiELIwUqI8y8FD3ZC8a50JkiH7LSyodueCG4lAXY6VyLgRz2VDGRXjocIIT1nJNo2Bkf5oL5XZIk6wlHYopr+ZCcbcd4vObip8wZ3KhXGiFCT/lzyc4WQUOFBqOAM6npaok3TWUlpqmTflk12CqZ/ZZvM+MLY5H8QmkIvPY3iW7FXeB4CKFphm3oUxLL1SkO6QuIiEg1cWnutzJdBNNhHSt28t04YbBXFORDWBigSjZXDJWmkTLyqS6h/Es1dbFRBSHxgkP5tnNuWAqks+FymYWBHKhZJK3xDNJXsXpHTqFitp2KhNCFUYucJ/Byq3NJNueDVAHVoqnG+sud9SNyKIA0Q9tL9MH0nIUkjMZJixjDPGJ0ZxxwZgsjdYnzAfyWeHIy7ARQZ7YjKW4tJEKdXBQwYXPvC8NtKHUsqCP8uJCaBWOzKLUx8+g8ElOqiwuy8fEcClca5ZE61sF3Fi17c+lUcUxbj5C1aWkcpcNx2VcEvZpoV6qi6IqS3ZNnlV5qLPWYMhXEuvF04RX1TAVVHV1cdTV3XwfmxU41CF9VlTdoI+CcW+c1WUtuXSsBmh92Gma4CTCuVAN0PrgmVACKcXSwwQKoMFc0zTV0+frcJeEUAL1pOkCjdxUH8oKrT5/QZrm2xbP8iL7AChNIC0++cA/g/HsgknNAlIdt/n8Ip9zjyxji/XxmcZ6TUarRF+XeFls35bkIs90juQJZcFDEiww0koaIy0hUMK40mHuUsq4YH3JPdSEowm1joSySMEppYIVOw/pB5RRikkmBaOUFoezJmOPMmHiWJXGiGLikzEp49iUu49p/qYoS16tl+pjLsuuWlaoz7kPRxyaDNSHHB+ArtZpKg+Vr8bqC5ET2xDElktLjUoiKTOxpGnOfVSSNlXnv5YkkNbCToVQsiztvyCXP0CE9WlT5Wn/oj7s1GFNWa5p1cHxLnTAe8unpUodqpYPPa+lpYqyrHsXyVklTT4ONJMBwEQ4K1T5ky9qTMhlYKJ3aZZKS5HGkrLQ4UVRwm2WCVPeDmVaqkZ+tW5JIJXeKZtN0A+4uokC2SBZLoK6OrmpU+oSR4Ks7SMosl6xKrRDk/iPdiXrVaCsKGHBQZVLTPUjIWnbYtJMk11ldW1AkRXTdqyUOyag6r+67IriXNNmrFMz1qkZ69SMdWrGOjVjSZv82uTXJr82+bXJr01+bfJrk1+b/NrkV5/LH2ljjM9lj8rPotJGGaP96WKlUKHc6bNKlUmNooS1pXvAVZy+W3eUqRtZ7pGV0eMckMpdb6V7paW7utydmCP8KXN6HKh7gOwewpiSJ1G+K50tjgNNNpuYswX/9D5w7EN6Ylty/LQu2VaubdWmxxjq0K5+uqnqdh7d5mf4UDw/9ljyuMadERmVHLXnof4EbFEO9ccCutMaSqC1s/48VPCwVJHyq9+k5FxGwQOm6qiYszA0OVGkatgowuc7JYel+M11xBKoSo41SXa3KQoVOmgss6lqq0ZRBB9Ly+pJe+7pOXUP74u27BOpPjYnOeuPh44D0slerW8G94BL5g03u1XrOcvtFiNSHjg2yo5vbbQ7ntBiKaMoCjeWo7i2D6ul5LZ7KeO85AwMF+mjtXCP7mgAmj0k0aikZijKz8czkdHGdgZSwguenjb916b/2vRfm/5r03/9cPxX6v4MKf3tmNrwFUVXrCL/95bWP97Siv6vk64hsYh1LKszRxyrOIplrGPmDjVUsYijmMdRrGMTs9jEIo5jbj2dOI5NrJPffbmXY5LPWpwtFzFxJXHyKfuy9xj7iAbhjiGMq5J1Vbp/8USaSPAq8//JZyMS80w9koPIYhXLqs7pJ21pql9NqnHaZL8lTurmcSrika0H5r3I5GWdLJn85MkrSspkpkwnmPSxpUhe1ekwFq7Nsw6FimSk3Lek0tJylvm0TN7RvSv3DTKJdkk/K7y0Wn/U1QPrImQ8mmXuU4ks60GlsVLJ72m9qBtD9fEqdlxo185R0ntRbGIeq6QsDRix+mqnjclI5Jky/5IRqdMlXw+TaWNW98n6ukU1H8jw/FlHWhUGUbIiEi8so+OWkThyLZDah0zsg+XKePKKM6M3Wyay65Ckb9P+Ibo4/Bwz7+nFC3Bi/DJFIhGV2UeU6Y98gDsvKCsYa0Zp+iH0hwr2RzXCMOGrOMdBLK6PyhKZ/lC5MpmxaRrRxpgkw4ww2FAqDWvANZa57Ym6iyTWlrV0VjDu+QGWqRxXubIPZB/0L+uPzLgSOf14rozndOQFeRGyNtaqbeYWbEVOZIF+rBCX8WGSi+Xu7biiBeOKZde5yYs3HC/cONZU1uarf1JJFvofKBsv9heW0QL7sLrl6yZydYtzvJblMZY9wdRx+AexD1NQhgU2gzn7UIX1wOp8Fa6HKOijfL/5hbJuOMx5fI7FAMdiUkbqjxuNo+rYSH2ptJ1F5sVz/lV2/lCZvlD1ZX5er7Zd7Xup0wgb6lFUt+L61n+WWr4KzOepb5VyUNYTkJkyncHKzNyT+i8HZz6npTia9EfezmnS9joZWyrnA6c/MfP/aX+wOg82jljDN3gMbxjR9jO0MWK+VpbhynrGT+rRMC/QAv8q2x9lZXk/TAX8kvIxRDJl4/Ubuv7gmfYVmfk8u5pJ7VzmyvI4mcFZP8vWi5jik5Ox4CxloVmBLYxfhkk9ouS7o0QfmtE1teHsakYEylSmbinGBIK2ZdU7Y5ky1ng8ayE/E8e/JvFZ7GpSFMxvNOEakVlLYGaNJBJbphmbT+f6LM75vKFMkQJbKLIPrLOj9Dt4nSUU1SPtj9oKp1q36npWZ8r8OrPGW9lVjz4o/lXYPqpotw6r6ZzuBGDGP2G5svRlcjie/qmRjD9mX0XzRL0l/7Xrj8Z6pD9pTufx6lGHy/iUooSvDnQexJL6+pUN1tUj+6K5eTzK2b7I1KO+rNGOQvaBBbbAcnOKZwFsTNTIzBEWYZJ6xJm/26sSnWXmpT9AGebK6IpVYIQQVFBOOX7w3xTjVFBFJf41UjLyiJUluWQHSR4TlBHFJD848rS08jSqgyRPKUZtCx6s9pOSUUl5nTx66UVAyYd8/WsAAAD//z2rGMbBiQAA";
  }
});

// test/heap.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// src/codes.ts
var table = {
  0: ["ok", "nobody", false, "success, or closed on purpose"],
  1: ["bad-message", "client", false, "a message violates the protocol: fix the sender"],
  2: ["bad-state", "client", false, "a message is not allowed in the present state: fix the sender"],
  3: ["protocol-version", "client", false, "the two sides use different protocol versions: update the older one"],
  4: ["schema-mismatch", "client", false, "the server lacks something that the client declares, or has another form of it: build both from the same types"],
  5: ["epoch-mismatch", "nobody", false, "the server runs a different world: drop all handles and connect again with epoch 0"],
  6: ["server-full", "nobody", true, "no free session: try again later"],
  7: ["draining", "nobody", true, "the server is shutting down: connect again, or to another one"],
  8: ["unauthorized", "client", false, "the token is missing, invalid or expired: fetch a new one"],
  9: ["too-slow", "client", true, "the client reads more slowly than the world changes: connect again on a better link"],
  10: ["too-fast", "client", true, "the client sends more than the limits allow: send less"],
  11: ["timeout", "nobody", true, "nothing arrived for too long: connect again"],
  12: ["internal", "server", true, "the server failed: see its log"],
  13: ["kicked", "nobody", false, "the operator or the game ended the session"],
  14: ["identity-fault", "server", true, "the two sides disagree on which entity is in a slot: connect again, and report it"],
  15: ["tables-mismatch", "client", false, "the two sides code rows with different tables: give both the same file"],
  16: ["replaced", "nobody", false, "the session continues over another connection"],
  17: ["spent", "nobody", true, "the session has used up its sequence numbers: connect again"],
  18: ["join-refused", "nobody", false, "the game does not admit this client"],
  19: ["too-much", "client", false, "the message exceeds what the receiver may keep: send less, or raise its limits"],
  20: ["banned", "nobody", false, "the operator has banned this user"],
  21: ["signed-in-elsewhere", "nobody", false, "the same user has started another session, which ends this one"],
  22: ["session-expired", "nobody", false, "the session time granted by the token is over: connect with a new token"],
  23: ["moved", "nobody", false, "the session continues on another server: connect to the address given, with the token given"],
  24: ["no-room", "client", false, "no room has this name: check the spelling, or name none"],
  32: ["stale-handle", "nobody", false, "the target is destroyed: drop the handle"],
  33: ["hidden-handle", "nobody", true, "the target is not in view"],
  34: ["unknown-handle", "client", true, "the target was not sent to this client"],
  35: ["unknown-command", "client", false, "no command has this name: check the spelling and the server's version"],
  36: ["rate-limited", "client", true, "too many commands: send fewer"],
  37: ["bad-arguments", "client", false, "the command's arguments are malformed or out of range"],
  38: ["command-refused", "nobody", false, "the rules of the game forbid it"]
};
var Code = {
  ok: 0,
  badMessage: 1,
  badState: 2,
  protocolVersion: 3,
  schemaMismatch: 4,
  epochMismatch: 5,
  tooSlow: 9,
  timeout: 11,
  tablesMismatch: 15,
  replaced: 16,
  tooMuch: 19,
  moved: 23,
  noRoom: 24,
  staleHandle: 32,
  unknownHandle: 34
};
function codeName(code) {
  return table[code]?.[0] ?? `code-${code}`;
}
var WireError = class extends Error {
  /** code is of PROTOCOL.md, section 13. */
  code;
  /** detail explains this case, for people. */
  detail;
  /** address and token are where to continue, with the code moved. */
  address;
  token;
  constructor(code, detail = "", address = "", token = new Uint8Array(0)) {
    super(`${codeName(code)}: ${table[code]?.[3] ?? "a code of a newer server"}${detail && ` (${detail})`}`);
    this.name = "WireError";
    this.code = code;
    this.detail = detail;
    this.address = address;
    this.token = token;
  }
  /** codeName is the name of code. */
  get codeName() {
    return codeName(this.code);
  }
  /** fault is the side that caused the error. */
  get fault() {
    return table[this.code]?.[1] ?? "nobody";
  }
  /** retry says whether the same request may succeed later. */
  get retry() {
    return table[this.code]?.[2] ?? false;
  }
};
var LimitError = class extends WireError {
  constructor(limit2, max2) {
    super(Code.tooMuch, `${limit2} is ${max2}: the server is broken or hostile, or the limit is too low for this game`);
  }
};
function fail(detail) {
  throw new WireError(Code.badMessage, detail);
}

// src/bits.ts
var BitReader = class {
  b = empty;
  at = 0;
  // of the next byte
  end = 0;
  acc = 0;
  // bits read from b and not yet taken
  n = 0;
  // how many
  short = false;
  wrong = "";
  // the first error of a reader's form
  reset(b, from = 0, to = b.length) {
    this.b = b;
    this.at = from;
    this.end = to;
    this.acc = this.n = 0;
    this.short = false;
    this.wrong = "";
  }
  /** bits reads n bits, 0 to 24. */
  bits(n) {
    while (this.n < n) {
      if (this.at < this.end) {
        this.acc |= this.b[this.at] << this.n;
      } else {
        this.short = true;
      }
      this.at++;
      this.n += 8;
    }
    const v = this.acc & (1 << n) - 1;
    this.acc >>>= n;
    this.n -= n;
    return v;
  }
  /** long reads n bits, 0 to 32. */
  long(n) {
    if (n <= 24) return this.bits(n);
    const low = this.bits(16);
    return (low | this.bits(n - 16) << 16) >>> 0;
  }
  /** taken is how many bits were taken, from the beginning of the array. */
  get taken() {
    return 8 * this.at - this.n;
  }
  /** peek returns the next 12 bits, zeros beyond the end, and skip takes n of them. */
  peek() {
    while (this.n < 12) {
      if (this.at < this.end) this.acc |= this.b[this.at] << this.n;
      this.at++;
      this.n += 8;
    }
    return this.acc & 4095;
  }
  skip(n) {
    this.acc >>>= n;
    this.n -= n;
  }
  /** sized reads section 2's sized(v). */
  sized() {
    const c = this.bits(2);
    const v = this.long(4 << c);
    if (c > 0 && v < 2 ** (4 << c - 1)) this.refuse("a number is not in its shortest form");
    return v;
  }
  /** golomb reads section 2's golomb(k, v). */
  golomb(k) {
    let m = k;
    for (; ; ) {
      const zeros = ~this.peek() | 4096;
      const ones = 31 - Math.clz32(zeros & -zeros);
      m += ones;
      if (m > 32) {
        this.refuse("a number is too long");
        return 0;
      }
      if (ones < 12) {
        this.skip(ones + 1);
        break;
      }
      this.skip(12);
    }
    const v = 2 ** m + this.long(m) - 2 ** k;
    if (v > 4294967295) {
      this.refuse("a number exceeds 32 bits");
      return 0;
    }
    return v;
  }
  /** refuse notes an error that check throws. */
  refuse(detail) {
    if (this.wrong === "") this.wrong = detail;
  }
  /** check throws if anything was read beyond the end or was malformed. */
  check() {
    if (this.short || this.at - (this.n >> 3) > this.end) fail("a bit string ends early");
    if (this.wrong !== "") fail(this.wrong);
  }
  /** endBytes checks the padding of a bit string that bytes follow, and returns where they begin. */
  endBytes() {
    this.check();
    if (this.bits(this.n & 7) !== 0) fail("the padding of a bit string is not zero");
    return this.at - (this.n >> 3);
  }
  /** expectEnd throws unless only the padding is left. */
  expectEnd() {
    this.check();
    if (this.end - this.at > 0 || this.n >= 8 + 8 * Math.max(this.at - this.end, 0)) fail("bytes follow a bit string");
    if (this.acc !== 0) fail("the padding of a bit string is not zero");
  }
};
var empty = new Uint8Array(0);
var BitWriter = class {
  b = new Uint8Array(64);
  bit = 0;
  reset() {
    this.b.fill(0, 0, this.bit + 7 >> 3);
    this.bit = 0;
  }
  /** bits writes the lowest n bits of v, n at most 32. */
  bits(v, n) {
    if (this.bit + n > 8 * this.b.length) {
      const more = new Uint8Array(2 * this.b.length);
      more.set(this.b);
      this.b = more;
    }
    for (let i = 0; i < n; i++) {
      if (v >>> i & 1) this.b[this.bit >> 3] |= 1 << (this.bit & 7);
      this.bit++;
    }
  }
  sized(v) {
    let c = 0;
    while (c < 3 && v >= 2 ** (4 << c)) c++;
    this.bits(c, 2);
    this.bits(v, 4 << c);
  }
  /** bytes returns a copy of what was written. */
  bytes() {
    return this.b.slice(0, this.bit + 7 >> 3);
  }
};
var utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
var ByteReader = class {
  b;
  at;
  end;
  constructor(b, from = 0, to = b.length) {
    this.b = b;
    this.at = from;
    this.end = to;
  }
  get left() {
    return this.end - this.at;
  }
  u8() {
    if (this.at >= this.end) fail("a message ends early");
    return this.b[this.at++];
  }
  u16() {
    return this.u8() | this.u8() << 8;
  }
  u32() {
    return (this.u16() | this.u16() << 16) >>> 0;
  }
  /** uvarint reads LEB128 of at most 32 bits in its shortest form. */
  uvarint(what, most = 4294967295) {
    let v = 0;
    for (let shift = 0; ; shift += 7) {
      const c = this.u8();
      v += (c & 127) * 2 ** shift;
      if (c < 128) {
        if (c === 0 && shift > 0) fail(`${what} is not in its shortest form`);
        if (v > most) fail(`${what} is ${v}, at most ${most}`);
        return v;
      }
      if (shift === 28) fail(`${what} is too long`);
    }
  }
  /** bytes returns a view of the next n bytes. */
  bytes(n) {
    if (n > this.left) fail("a message ends early");
    this.at += n;
    return this.b.subarray(this.at - n, this.at);
  }
  /** text reads a length, at most most, and so many bytes of UTF-8. */
  text(what, most) {
    return decodeText(this.bytes(this.uvarint(what, most)));
  }
  expectEnd() {
    if (this.left > 0) fail(`${this.left} bytes follow a message`);
  }
};
function decodeText(b) {
  try {
    return utf8.decode(b);
  } catch {
    return fail("a text is not UTF-8");
  }
}
var ByteWriter = class {
  b = new Uint8Array(128);
  n = 0;
  grow(n) {
    if (this.n + n > this.b.length) {
      const more = new Uint8Array(Math.max(2 * this.b.length, this.n + n));
      more.set(this.b);
      this.b = more;
    }
    this.n += n;
    return this.n - n;
  }
  reset() {
    this.n = 0;
  }
  u8(v) {
    const at = this.grow(1);
    this.b[at] = v;
  }
  u32(v) {
    const at = this.grow(4);
    for (let i = 0; i < 4; i++) this.b[at + i] = v >>> 8 * i;
  }
  uvarint(v) {
    for (; v >= 128; v = Math.floor(v / 128)) this.u8(v % 128 | 128);
    this.u8(v);
  }
  bytes(b) {
    const at = this.grow(b.length);
    this.b.set(b, at);
  }
  /** take returns a copy of what was written. */
  take() {
    return this.b.slice(0, this.n);
  }
  /** view returns what was written, valid until the next write. */
  view() {
    return this.b.subarray(0, this.n);
  }
};

// src/limits.ts
var version = 4;
var maxDatagram = 1200;
var maxFrame = 65536;
var maxRows = 256;
var maxLoad = 1280;
var maxComponents = 32;
var maxFields = 64;
var maxRowBytes = 1152;
var maxStates = 32;
var maxSlots = 2 ** 24;
var maxKinds = 65536;
var maxName = 64;
var maxRoom = 64;
var maxText = 256;
var maxToken = 2048;
var maxPath = 256;
var maxArgs = 1024;
var maxTextField = 1024;
var maxTexts = 8192;
var maxSchemaText = 49152;
var maxCommandKinds = 256;
var maxEventKinds = 256;
var maxWishes = 16;
var maxView = 65535;
var maxUnanswered = 256;
var maxInputs = 16;
var maxInputBytes = 64;
var maxNesting = 16;
var maxTextFields = maxComponents * maxFields;
var maxBack = 63;

// src/schema.ts
var Field = class {
  path;
  kind;
  /** n is the width in bits; of a quat, of each component. */
  n = 0;
  /** largest is the largest number N, 0 if the field has none. */
  largest = 0;
  always = false;
  linear = false;
  owner = false;
  low = 0;
  step = 0;
  /** values counts the uint32 values. */
  values = 1;
  /** index is that of the first value in a row or a message. */
  index = 0;
  /** component is the field's component, -1 in a message; offset is the index of its first value. */
  component = -1;
  offset = 0;
  constructor(path, kind) {
    this.path = path;
    this.kind = kind;
  }
  /** isNumber reports whether the field is a number field. */
  get isNumber() {
    return this.n <= 32 && this.kind !== "bool" && this.kind !== "float" && this.kind !== "ref" && this.kind !== "quat";
  }
  /** bits returns the bits of the field in full in its longest form. */
  get bits() {
    return this.kind === "ref" ? 1 + 2 * (2 + 32) : this.kind === "quat" ? 2 + 3 * this.n : this.n;
  }
  /** is reports whether f has the same line but for the path. */
  is(f2) {
    return this.kind === f2.kind && this.n === f2.n && this.largest === f2.largest && this.low === f2.low && this.step === f2.step && this.always === f2.always && this.linear === f2.linear && this.owner === f2.owner;
  }
  /** read reads the field in full (section 7) into out, from at on. */
  read(r, out, at) {
    if (this.kind === "ref") this.readRef(r, out, at);
    else if (this.values === 2) {
      out[at] = r.long(32);
      out[at + 1] = r.long(32);
    } else if (this.kind === "quat") out[at] = r.long(2 + 3 * this.n);
    else {
      const v = r.long(this.n);
      if (v > this.largest && this.largest > 0) r.refuse(`${this.path} is ${v}, at most ${this.largest}`);
      out[at] = v;
    }
  }
  readRef(r, out, at) {
    out[at] = out[at + 1] = 0;
    if (r.bits(1) === 0) return;
    const index = out[at] = r.sized();
    const generation = out[at + 1] = r.sized();
    if (index >= maxSlots || generation % 2 === 0) r.refuse(`${this.path} is the handle ${index}v${generation}`);
  }
  /** write writes the field in full from values, from at on. */
  write(w, values, at) {
    if (this.kind === "ref") {
      const some = values[at] !== 0 || values[at + 1] !== 0;
      w.bits(some ? 1 : 0, 1);
      if (some) {
        w.sized(values[at]);
        w.sized(values[at + 1]);
      }
    } else if (this.values === 2) {
      w.bits(values[at], 32);
      w.bits(values[at + 1], 32);
    } else w.bits(values[at], this.bits);
  }
};
function readText(f2, b) {
  if (b.length > f2.max) fail(`${f2.path} has ${b.length} bytes, at most ${f2.max}`);
  return f2.bytes ? b.slice() : decodeText(b);
}
function noText(f2) {
  return f2.bytes ? new Uint8Array(0) : "";
}
var Message = class {
  fields;
  texts;
  /** values counts the uint32 values of all fields. */
  values;
  constructor(fields, texts) {
    this.fields = fields;
    this.texts = texts;
    this.values = fields.reduce((n, f2) => n + f2.values, 0);
  }
  /** parse reads a body (section 7). */
  parse(r, b) {
    const p = { values: new Uint32Array(this.values), texts: [] };
    r.reset(b);
    for (const f2 of this.fields) f2.read(r, p.values, f2.index);
    const c = new ByteReader(b, r.endBytes());
    for (const f2 of this.texts) p.texts.push(readText(f2, c.bytes(c.uvarint(f2.path, f2.max))));
    c.expectEnd();
    return p;
  }
  /** append returns the body of a payload. */
  append(p) {
    const w = new BitWriter();
    for (const f2 of this.fields) f2.write(w, p.values, f2.index);
    const c = new ByteWriter();
    c.bytes(w.bytes());
    this.texts.forEach((f2, i) => {
      const text2 = p.texts[i];
      const b = typeof text2 === "string" ? utf82.encode(text2) : text2;
      if (b.length > f2.max) throw new RangeError(`${f2.path} has ${b.length} bytes, at most ${f2.max}`);
      c.uvarint(b.length);
      c.bytes(b);
    });
    return c.take();
  }
};
var utf82 = new TextEncoder();
function hashOf(text2) {
  let low = 2216829733;
  let high = 3421674724;
  for (const b of utf82.encode(text2)) {
    low = (low ^ b) >>> 0;
    const product2 = low * 435;
    high = high * 435 + Math.floor(product2 / 2 ** 32) + (low << 8) >>> 0;
    low = product2 >>> 0;
  }
  const hash2 = BigInt(high) << 32n | BigInt(low);
  return hash2 === 0n ? 1n : hash2;
}
var keywords = /* @__PURE__ */ new Set(["component", "parent", "kind", "body", "motion", "input", "command", "answer", "event"]);
function parseSchema(text2) {
  return new Parser(text2).schema();
}
var isWord = (s) => s !== "" && !/[\u0000-\u0020\u007f-\u00a0]/.test(s);
var length = (s) => utf82.encode(s).length;
var longest = (f2) => (f2.max < 128 ? 1 : 2) + f2.max;
function sumOf(all, f2) {
  return all.reduce((n, x) => n + f2(x), 0);
}
var Parser = class {
  text;
  lines;
  at = 0;
  words = [];
  // of the current line
  names = /* @__PURE__ */ new Set();
  values = 0;
  rowBits = 174;
  constructor(text2) {
    this.text = text2;
    if (length(text2) > maxSchemaText) this.wrong("longer than the limit");
    if (!text2.endsWith("\n")) this.wrong("the last line has no end");
    this.lines = text2.slice(0, -1).split("\n");
    if (this.lines[0] !== "worldd schema 2") this.wrong("not a schema of this version");
    this.next();
  }
  wrong(detail) {
    const line = this.lines?.[this.at];
    throw new WireError(Code.badMessage, `schema text${line === void 0 ? "" : `, line ${this.at + 1}, ${JSON.stringify(line.slice(0, 80))}`}: ${detail}`);
  }
  next() {
    this.at++;
    this.words = this.at < this.lines.length ? this.lines[this.at].split(" ") : [];
  }
  must(ok, detail) {
    if (!ok) this.wrong(detail);
  }
  schema() {
    const components = [];
    const texts = [];
    const kinds2 = [];
    const commands = [];
    const events = [];
    for (; this.is("component"); ) components.push(this.component(components.length, texts));
    this.must(this.rowBits <= 8 * maxRowBytes, "a row and its header may exceed the limit");
    for (; this.is("kind"); ) kinds2.push(this.kind());
    const motion2 = this.is("motion") ? this.motion() : void 0;
    this.must(this.is("input"), "want the input line");
    const input = this.input();
    for (; this.is("command"); ) commands.push(this.command());
    for (; this.is("event"); ) events.push(this.event());
    this.must(this.at === this.lines.length, "a line out of place");
    this.must(commands.length <= maxCommandKinds && events.length <= maxEventKinds, "too many commands or events");
    return { text: this.text, hash: hashOf(this.text), components, values: this.values, texts, kinds: kinds2, motion: motion2, input, commands, events };
  }
  is(keyword) {
    return this.words[0] === keyword;
  }
  /** take checks the number of words and goes on to the next line. */
  take(n) {
    const words3 = this.words;
    this.must(words3.length === n, `want ${n} words`);
    this.next();
    return words3;
  }
  name(section, name) {
    this.must(isWord(name) && length(name) <= maxName, "a name of this form");
    this.must(!this.names.has(`${section} ${name}`), "the name is there twice");
    this.names.add(`${section} ${name}`);
    return name;
  }
  decimal(s, least, most) {
    this.must(s !== void 0 && /^(0|[1-9]\d{0,9})$/.test(s), "want a decimal number");
    const n = Number(s);
    this.must(n >= least && n <= most, `want ${least} to ${most}`);
    return n;
  }
  hex(s, digits) {
    this.must(s !== void 0 && s.length === digits && /^[0-9a-f]+$/.test(s), `want ${digits} hexadecimal digits`);
    return s;
  }
  /** single reads a finite single without a sign bit. */
  single(s, most = Infinity) {
    const b = new DataView(new ArrayBuffer(4));
    b.setUint32(0, parseInt(this.hex(s, 8), 16));
    const x = b.getFloat32(0);
    this.must(b.getUint8(0) < 128 && Number.isFinite(x) && x <= most, "a constant out of range");
    return x;
  }
  double(s) {
    const b = new DataView(new ArrayBuffer(8));
    b.setBigUint64(0, BigInt(`0x${this.hex(s, 16)}`));
    return b.getFloat64(0);
  }
  component(index, allTexts) {
    const name = this.name("component", this.take(2)[1]);
    this.must(index < maxComponents, "too many components");
    const { fields, texts, parent, holder } = this.fields(index);
    const c = { name, index, fields, texts, parent, holder };
    allTexts.push(...texts);
    this.must(sumOf(allTexts, longest) <= maxTexts, "the texts of an entity may exceed the limit");
    this.rowBits += longestPart(c) + (name === "body" ? 390 : 0);
    return c;
  }
  /** fields reads the fields of a component, or of a message if component is -1. */
  fields(component) {
    const all = { fields: [], texts: [], parent: "", holder: 0 };
    const paths = /* @__PURE__ */ new Set();
    let value = component < 0 ? 0 : this.values;
    for (; this.words.length > 0; this.next()) {
      const path = this.words[0];
      if (path === "parent" && component >= 0 && all.parent === "" && all.texts.length === 0) {
        this.parent(all);
        continue;
      }
      if (keywords.has(path)) break;
      this.must(isWord(path) && length(path) <= maxPath && !paths.has(path), "a path of this form, or twice");
      paths.add(path);
      if (this.words[1] === "string" || this.words[1] === "bytes") all.texts.push(this.textField(component));
      else {
        this.must(all.texts.length === 0 && all.parent === "", "fields precede parent and texts");
        const f2 = this.field(component);
        this.follows(all.fields, f2);
        f2.index = value;
        f2.offset = component < 0 ? 0 : this.values;
        value += f2.values;
        all.fields.push(f2);
      }
      this.must(all.fields.length + all.texts.length <= maxFields, "too many fields");
    }
    if (component >= 0) this.values = value;
    return all;
  }
  /** follows checks that an element of an array is like the one before it. */
  follows(before2, f2) {
    const m = /^(.*)\[(\d+)\]$/.exec(f2.path);
    if (m === null || m[2] === "0") return;
    const last = before2.at(-1);
    this.must(m[2][0] !== "0" && last !== void 0 && last.path === `${m[1]}[${BigInt(m[2]) - 1n}]` && last.is(f2), "an element does not follow the one before, or is not like it");
  }
  textField(component) {
    const w = this.words;
    const owner = w.length === 4 && w[3] === "owner" && component >= 0;
    this.must(w.length === 3 || owner, "want PATH string N");
    return { path: w[0], bytes: w[1] === "bytes", max: this.decimal(w[2], 1, maxTextField), owner, component };
  }
  field(component) {
    const w = this.words;
    const f2 = new Field(w[0], w[1]);
    f2.component = component;
    let at = this.kindOf(f2, w);
    const option = (name) => {
      const has = w[at] === name;
      if (has) at++;
      return has;
    };
    f2.always = option("always");
    f2.linear = !f2.always && option("linear");
    f2.owner = option("owner");
    this.must(at === w.length, "unknown attributes");
    this.must(component >= 0 || !(f2.always || f2.linear || f2.owner), "attributes are for components");
    this.must(!f2.linear || f2.isNumber || f2.kind === "quat", "linear is for numbers and quat");
    return f2;
  }
  /** kindOf reads a KIND and returns the number of words read. */
  kindOf(f2, w) {
    switch (f2.kind) {
      case "bool":
        f2.n = 1;
        return 2;
      case "ref":
        f2.values = 2;
        return 2;
      case "range":
        this.range(f2, w);
        return 5;
      case "float":
        this.must(w[2] === "32" || w[2] === "64", "want 32 or 64 bits");
        f2.n = Number(w[2]);
        break;
      case "uint":
      case "int":
        f2.n = w[2] === "64" ? 64 : this.decimal(w[2], 1, 32);
        break;
      case "angle":
        f2.n = this.decimal(w[2], 1, 32);
        break;
      case "quat":
        f2.n = this.decimal(w[2], 2, 10);
        break;
      case "enum":
        f2.largest = this.decimal(w[2], 2, 65535) - 1;
        f2.n = 32 - Math.clz32(f2.largest);
        return 3;
      default:
        this.wrong("unknown kind");
    }
    if (f2.n === 64) f2.values = 2;
    else if (f2.kind !== "float") f2.largest = 2 ** f2.n - 1;
    return 3;
  }
  range(f2, w) {
    f2.low = this.double(w[2]);
    f2.step = this.double(w[3]);
    f2.largest = this.decimal(w[4], 1, 2 ** 32 - 2);
    f2.n = 32 - Math.clz32(f2.largest);
    const ok = Number.isFinite(f2.low) && !Object.is(f2.low, -0) && f2.step > 0 && Number.isFinite(f2.step) && Number.isFinite(f2.low + f2.largest * f2.step);
    this.must(ok, "a range that is not finite");
  }
  parent(all) {
    const w = this.words;
    this.must(w.length === 3, "want parent PATH HANDLE");
    const i = all.fields.findIndex((f2) => f2.path === w[1]);
    const holder = all.fields.find((f2) => f2.path === w[2]);
    this.must(i >= 0 && isVector(all.fields, i) && all.fields[i].linear, "the parent line names no linear vector");
    this.must(holder?.kind === "ref", "the parent line names no ref");
    this.must(!all.fields.some((f2) => f2.owner), "a component with a parent line has fields for owners");
    all.parent = w[1];
    all.holder = holder.index;
  }
  kind() {
    const name = this.name("kind", this.take(2)[1]);
    return this.is("body") ? { name, body: this.body() } : { name };
  }
  body() {
    const w = this.take(7);
    return {
      inverseMass: this.single(w[1]),
      coupling: this.single(w[2], 1),
      radius: this.single(w[3]),
      friction: this.single(w[4]),
      restitution: this.single(w[5], 1),
      layers: parseInt(this.hex(w[6], 8), 16)
    };
  }
  motion() {
    const w = this.take(10);
    const bounds = w[9];
    if (bounds !== "clamp" && bounds !== "bounce" && bounds !== "destroy") this.wrong("unknown bounds");
    return {
      tickHz: this.decimal(w[1], 1, 65535),
      gravity: this.single(w[2]),
      maxSpeed: this.single(w[3]),
      halfX: this.single(w[4]),
      height: this.single(w[5]),
      halfZ: this.single(w[6]),
      restSpeed: this.single(w[7]),
      restTicks: this.decimal(w[8], 0, 2 ** 32 - 1),
      bounds
    };
  }
  message(most) {
    const { fields, texts } = this.fields(-1);
    const bits4 = sumOf(fields, (f2) => f2.bits);
    this.must((bits4 + 7 >> 3) + sumOf(texts, longest) <= most, `a message may exceed ${most} bytes`);
    return new Message(fields, texts);
  }
  input() {
    if (this.words.length === 2 && this.words[1] === "raw") {
      this.next();
      return void 0;
    }
    this.take(1);
    return this.message(maxInputBytes);
  }
  command() {
    const raw = this.words.length === 3 && this.words[2] === "raw";
    const name = this.name("command", this.take(raw ? 3 : 2)[1]);
    if (raw) return { name };
    const args = this.message(maxArgs);
    if (!this.is("answer")) return { name, args };
    this.take(1);
    return { name, args, answer: this.message(maxArgs) };
  }
  event() {
    const unreliable = this.words.length === 3 && this.words[2] === "unreliable";
    const name = this.name("event", this.take(unreliable ? 3 : 2)[1]);
    return { name, unreliable, message: this.message(maxArgs) };
  }
};
function isVector(fields, i) {
  const f2 = fields[i];
  if (f2.kind !== "range" || f2.always || !f2.path.endsWith("[0]")) return false;
  const stem = f2.path.slice(0, -2);
  return fields[i + 2]?.path === `${stem}2]` && fields[i + 3]?.path !== `${stem}3]`;
}
function unitsOf(c, owned) {
  const units = [];
  let hasPosition = false;
  for (let at = 0; at < c.fields.length; ) {
    const f2 = c.fields[at];
    let fields = 1;
    if (f2.owner && !owned) {
      at++;
      continue;
    }
    let letter = "f";
    let radix = 2;
    if (f2.always) {
      letter = "a";
      radix = 1;
    } else if (f2.kind === "bool") letter = "b";
    else if (f2.kind === "quat") {
      letter = f2.linear ? "Q" : "q";
      radix = 5;
    } else if (isVector(c.fields, at)) {
      fields = 3;
      letter = f2.linear ? "V" : "v";
      if (f2.linear && !hasPosition && (c.parent === "" || c.parent === f2.path)) {
        letter = "P";
        radix = 5;
        hasPosition = true;
      }
    } else if (f2.isNumber && f2.n > 4) letter = f2.linear ? "N" : "n";
    units.push({ letter, at, fields, radix });
    at += fields;
  }
  return units;
}
function groupsOf(radices) {
  const ends = [];
  let product2 = 1;
  radices.forEach((radix, i) => {
    if (product2 * radix > 128) {
      ends.push(i);
      product2 = 1;
    }
    product2 *= radix;
  });
  if (product2 > 1) ends.push(radices.length);
  return ends;
}
function longestPart(c) {
  const full = 1 + sumOf(c.fields, (f2) => f2.bits);
  const units = unitsOf(c, true);
  let coded = 12 * groupsOf(units.map((u) => u.radix)).length;
  for (const u of units) {
    const f2 = c.fields[u.at];
    if (u.letter === "a" || u.letter === "f") coded += f2.bits;
    else if (u.letter !== "b") coded += (f2.kind === "quat" ? 3 : u.fields) * (12 + Math.max(f2.n, 19));
  }
  return Math.max(full, coded);
}

// src/motion/columns.ts
var State = class {
  x = 0;
  y = 0;
  z = 0;
  vx = 0;
  vy = 0;
  vz = 0;
  rest = 0;
  awake = false;
  // the next tick moves it
  copy(s) {
    this.x = s.x;
    this.y = s.y;
    this.z = s.z;
    this.vx = s.vx;
    this.vy = s.vy;
    this.vz = s.vz;
    this.rest = s.rest;
    this.awake = s.awake;
    return this;
  }
};
var Columns = class {
  x = new Float32Array(64);
  y = new Float32Array(64);
  z = new Float32Array(64);
  vx = new Float32Array(64);
  vy = new Float32Array(64);
  vz = new Float32Array(64);
  rest = new Uint32Array(64);
  kind = new Uint16Array(64);
  number = new Uint32Array(64);
  length = 0;
  /** Adds a row and returns it. Its content is undefined. */
  add() {
    if (this.length === this.x.length) this.grow();
    return this.length++;
  }
  grow() {
    const floats = (old) => {
      const to = new Float32Array(2 * old.length);
      to.set(old);
      return to;
    };
    this.x = floats(this.x);
    this.y = floats(this.y);
    this.z = floats(this.z);
    this.vx = floats(this.vx);
    this.vy = floats(this.vy);
    this.vz = floats(this.vz);
    const { rest, kind, number } = this;
    this.rest = new Uint32Array(2 * rest.length);
    this.kind = new Uint16Array(2 * kind.length);
    this.number = new Uint32Array(2 * number.length);
    this.rest.set(rest);
    this.kind.set(kind);
    this.number.set(number);
  }
  set(row, s) {
    this.x[row] = s.x;
    this.y[row] = s.y;
    this.z[row] = s.z;
    this.vx[row] = s.vx;
    this.vy[row] = s.vy;
    this.vz[row] = s.vz;
    this.rest[row] = s.rest;
  }
  /** Sets all of s but awake. */
  get(row, s) {
    s.x = this.x[row];
    s.y = this.y[row];
    s.z = this.z[row];
    s.vx = this.vx[row];
    s.vy = this.vy[row];
    s.vz = this.vz[row];
    s.rest = this.rest[row];
  }
  /** Stops a row, as a body that falls asleep requires. */
  fallAsleep(row) {
    this.vx[row] = this.vy[row] = this.vz[row] = this.rest[row] = 0;
  }
  swap(i, j) {
    swap(this.x, i, j);
    swap(this.y, i, j);
    swap(this.z, i, j);
    swap(this.vx, i, j);
    swap(this.vy, i, j);
    swap(this.vz, i, j);
    swap(this.rest, i, j);
    swap(this.kind, i, j);
    swap(this.number, i, j);
  }
};
function swap(column, i, j) {
  const old = column[i];
  column[i] = column[j];
  column[j] = old;
}

// src/field/program.ts
var Op = {
  none: 0,
  end: 1,
  // NaN in the lanes that the effect added to becomes +0
  load: 2,
  // of a uniform
  add: 3,
  sub: 4,
  mul: 5,
  div: 6,
  mad: 7,
  nmad: 8,
  min: 9,
  max: 10,
  abs: 11,
  neg: 12,
  floor: 13,
  sqrt: 14,
  rsqrt: 15,
  sin: 16,
  saturate: 17,
  select_lt: 18,
  select_ge: 19,
  exp2: 20,
  // this and later ones since version 2
  hash: 21
};
var opNames = Object.keys(Op);
var opcodes = opNames.length;
var operandCounts = [0, 0, 0, 2, 2, 2, 2, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 4, 4, 1, 3];
var maxRegisters = 32;
var planePosition = maxRegisters;
var planeOutput = maxRegisters + 3;
var planeCount = maxRegisters + 6;
var maxNameBytes = 64;
var maxParams = 64;
var maxLiterals = 1024;
var maxInstructions = 1024;
var headerBytes = 14;
var maxBinaryBytes = headerBytes + maxNameBytes + maxParams * (1 + maxNameBytes + 1 + 16 + 8) + 24 + 4 * maxLiterals + 8 * maxInstructions;
var VerifyError = class extends Error {
  pc;
  // index of the instruction; -1 for the program as a whole
  constructor(reason, pc = -1, op = 0) {
    const at = pc < 0 ? "" : ` at instruction ${pc} (${opNames[op] ?? `opcode ${op}`})`;
    super(`field: bytecode rejected${at}: ${reason}`);
    this.pc = pc;
  }
};
var Program = class {
  name;
  params;
  defaults;
  // of all parameters, four lanes each
  box;
  // where it acts; null: everywhere
  literals;
  code;
  preloads;
  sums;
  // derived: bitmap of the output's lanes that it adds to
  /** Decodes and verifies a program, which may come from an untrusted source. */
  constructor(bytes) {
    if (bytes.length > maxBinaryBytes) refuse(`${bytes.length} bytes; at most ${maxBinaryBytes} are allowed`);
    const r = new Reader(bytes);
    const head = readHeader(r);
    this.preloads = head.preloads;
    this.name = r.string(head.name);
    this.params = Array.from({ length: head.params }, () => readParam(r, head.version));
    this.box = head.boxed ? { min: r.floats(3), max: r.floats(3) } : null;
    this.literals = r.floats(head.literals);
    this.code = Array.from({ length: head.code }, () => readInstruction(r));
    const version2 = r.fault === "" && !r.short ? this.version() : head.version;
    if (head.version !== version2) {
      r.fault = `the header says version ${head.version}, but the program needs version ${version2}`;
    }
    if (r.fault !== "") refuse(r.fault);
    if (r.short) refuse("unexpected end of data");
    if (r.at < bytes.length) refuse(`${bytes.length - r.at} bytes of trailing data`);
    this.verifyHeader();
    const v = new Verifier(this);
    this.code.forEach((instruction, pc) => v.instruction(pc, instruction));
    if (v.sums === 0) refuse("the effect does nothing: it never adds to the output");
    this.sums = v.sums;
    this.defaults = new Float32Array(4 * this.params.length);
    this.params.forEach((p, i) => this.defaults.set(p.default, 4 * i));
  }
  /** Reports whether params, four lanes for each parameter, are each in its range. */
  allows(params) {
    return params.length === 4 * this.params.length && this.params.every((p, i) => allows(p, params.subarray(4 * i, 4 * i + 4)));
  }
  /** Estimates the cost per point in nanoseconds, to a factor of two or three. */
  get nanosecondsPerPoint() {
    let sum = 0;
    for (const { op, same: same3 } of this.code) {
      sum += same3 ? 1 : op === Op.exp2 || op === Op.sin || op === Op.hash ? 12 : op === Op.rsqrt ? 8 : 2;
    }
    return sum;
  }
  /** Returns the lowest version of the portable form that can say what the program is. */
  version() {
    const newer = this.params.some((p) => p.scalar || p.bounded) || this.code.some((i) => i.op >= Op.exp2 && i.op < opcodes);
    return newer ? 2 : 1;
  }
  verifyHeader() {
    if (this.name !== "" && !isName(this.name)) refuse(`the effect's name ${quote(this.name)} is not a valid name`);
    const seen = /* @__PURE__ */ new Set();
    this.params.forEach((p, i) => {
      verifyParam(p, i, seen);
      seen.add(p.name);
    });
    if (this.box !== null) {
      const { min: min2, max: max2 } = this.box;
      if (!allFinite(min2) || !allFinite(max2)) refuse("the box is not finite");
      if (min2.some((m, i) => m > max2[i])) refuse("the box is inside out");
    }
    if (!allFinite(this.literals)) refuse("a literal is not finite");
    if (this.code.length === 0) refuse("no instructions");
    if (this.preloads > this.code.length) refuse(`${this.preloads} of ${this.code.length} instructions are preloads`);
  }
};
function refuse(reason) {
  throw new VerifyError(reason);
}
function quote(name) {
  return JSON.stringify(name);
}
function readHeader(r) {
  if (r.string(4) !== "wfld") refuse("not a program: it does not begin with wfld");
  const version2 = r.u8();
  if (version2 < 1 || version2 > 2) refuse(`version ${version2}; want 1 to 2`);
  const flags = r.u8();
  const name = r.u8();
  const params = r.u8();
  const literals = r.u16();
  const preloads = r.u16();
  const code = r.u16();
  if (flags > 1) refuse(`unknown flags 0x${flags.toString(16)}`);
  if (params > maxParams || literals > maxLiterals || code > maxInstructions) {
    refuse(
      `${params} parameters, ${literals} literals, ${code} instructions; at most ${maxParams}, ${maxLiterals}, ${maxInstructions} are allowed`
    );
  }
  return { version: version2, boxed: flags === 1, name, params, literals, preloads, code };
}
function readParam(r, version2) {
  const name = r.string(r.u8());
  const kind = version2 > 1 ? r.u8() : 0;
  if (kind > 3) r.fault = `unknown kind 0x${kind.toString(16)} of a parameter`;
  const scalar = (kind & 1) !== 0;
  const bounded = (kind & 2) !== 0;
  const defaults2 = r.floats(4);
  const [min2, max2] = bounded ? r.floats(2) : [0, 0];
  return { name, default: defaults2, scalar, bounded, min: min2, max: max2 };
}
function readInstruction(r) {
  return { op: r.u8(), to: r.u8(), operands: [r.u8(), r.u8(), r.u8(), r.u8()], uniform: r.u16(), same: false };
}
var Reader = class {
  at = 0;
  short = false;
  fault = "";
  view;
  constructor(bytes) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }
  /** Returns where n bytes begin, or -1 past the end. */
  take(n) {
    const at = this.at;
    if (n > this.view.byteLength - at) {
      this.short = true;
      this.at = this.view.byteLength;
      return -1;
    }
    this.at += n;
    return at;
  }
  u8() {
    const at = this.take(1);
    return at < 0 ? 0 : this.view.getUint8(at);
  }
  u16() {
    const at = this.take(2);
    return at < 0 ? 0 : this.view.getUint16(at, true);
  }
  floats(n) {
    return Float32Array.from({ length: n }, () => {
      const at = this.take(4);
      return at < 0 ? 0 : this.view.getFloat32(at, true);
    });
  }
  string(n) {
    const at = this.take(n);
    let s = "";
    for (let i = 0; i < n; i++) s += String.fromCharCode(at < 0 ? 0 : this.view.getUint8(at + i));
    return s;
  }
};
function verifyParam(p, i, seen) {
  const name = quote(p.name);
  if (!isName(p.name) || p.name === "position" || p.name === "output" || p.name === "time") {
    refuse(`the name of parameter ${i}, ${name}, is not valid`);
  }
  if (seen.has(p.name)) refuse(`two parameters are called ${name}`);
  if (!allFinite(p.default)) refuse(`the default of parameter ${name} is not finite`);
  if (p.scalar && !p.default.every((x) => Object.is(x, p.default[0]))) {
    refuse(`parameter ${name} is a number, but the lanes of its default differ`);
  }
  if (p.bounded && !(Number.isFinite(p.min) && Number.isFinite(p.max) && p.min <= p.max)) {
    refuse(`the range of parameter ${name} is invalid`);
  }
  if (!allows(p, p.default)) refuse(`the default of parameter ${name} is outside of its range`);
}
function allows(p, lanes2) {
  const counted = p.scalar ? 1 : 4;
  return lanes2.every(
    (x, i) => i >= counted || Number.isFinite(x) && (!p.bounded || i === 3 || x >= p.min && x <= p.max)
  );
}
function isName(s) {
  return s.length <= maxNameBytes && /^[A-Za-z_][A-Za-z_0-9]*$/.test(s);
}
function allFinite(v) {
  return v.every((x) => Number.isFinite(x));
}
function accumulator(op) {
  return op === Op.add || op === Op.sub ? 0 : op === Op.mad || op === Op.nmad ? 2 : -1;
}
var Verifier = class {
  sums = 0;
  program;
  uniforms;
  written = new Uint8Array(maxRegisters);
  resident = new Uint8Array(maxRegisters);
  // written by preloads
  same = new Uint8Array(planeCount);
  // planes whose lanes are alike
  constructor(p) {
    this.program = p;
    this.uniforms = 1 + 4 * p.params.length + p.literals.length;
  }
  instruction(pc, i) {
    const fail2 = (reason) => {
      throw new VerifyError(reason, pc, i.op);
    };
    const load2 = i.op === Op.load;
    if (i.op === Op.none || i.op >= opcodes) fail2("no such operation");
    if (pc === this.program.code.length - 1 !== (i.op === Op.end)) fail2("end must be the last instruction, and only that");
    if (pc < this.program.preloads && !load2) fail2("only loads can be preloads");
    if (!load2 && i.uniform !== 0) fail2("it names a uniform, but is not a load");
    if (load2 && i.uniform >= this.uniforms) fail2(`uniform ${i.uniform} of ${this.uniforms}`);
    if (load2 && this.laneOfNumber(i.uniform)) fail2(`uniform ${i.uniform} is y, z or w of a number`);
    i.operands.forEach((plane, k) => this.operand(i, k, plane, fail2));
    this.destination(pc, i, fail2);
  }
  /** Reports whether a uniform is y, z or w of a parameter that is a number. */
  laneOfNumber(uniform2) {
    const i = uniform2 - 1;
    const p = this.program.params[i >> 2];
    return i >= 0 && i % 4 !== 0 && p !== void 0 && p.scalar;
  }
  operand(i, k, plane, fail2) {
    const count = operandCounts[i.op];
    if (k >= count) {
      if (plane !== 0) fail2(`operand ${k + 1} is set, but it takes ${count}`);
    } else if (i.to >= planeOutput && i.to < planeCount && k === accumulator(i.op)) {
      if (plane !== i.to) fail2("it writes the output without adding to it");
    } else if (plane >= planeOutput) {
      fail2(`operand ${k + 1} is plane ${plane}, which can't be read`);
    } else if (plane < maxRegisters && this.written[plane] === 0) {
      fail2(`operand ${k + 1} is register ${plane}, which has not been written`);
    }
  }
  destination(pc, i, fail2) {
    const { op, to } = i;
    if (op === Op.end) {
      if (to !== 0) fail2("it names a destination but writes nothing");
    } else if (to < maxRegisters) {
      if (this.resident[to] !== 0) fail2(`register ${to} was preloaded and must keep its value`);
      this.written[to] = 1;
      if (pc < this.program.preloads) this.resident[to] = 1;
      i.same = i.operands.every((plane, k) => k >= operandCounts[op] || this.same[plane] !== 0);
      this.same[to] = i.same ? 1 : 0;
    } else if (to < planeOutput || to >= planeCount || accumulator(op) < 0) {
      fail2(`it can't write plane ${to}`);
    } else {
      this.sums |= 1 << to - planeOutput;
    }
  }
};

// src/field/arith.ts
var double = new Float64Array(1);
var halves = new Uint32Array(double.buffer);
var operands = new Float64Array(3);
var single = new Float32Array(1);
var bits = new Uint32Array(single.buffer);
var { abs, floor, fround, imul, sqrt } = Math;
function fma32(a, b, c) {
  const s = a * b + c;
  const r = fround(s);
  double[0] = s;
  if ((halves[0] & 268435455) !== 0 || r === s) return r;
  operands[0] = a;
  operands[1] = b;
  operands[2] = c;
  fmaTie();
  return double[0];
}
function fmaTie() {
  const p = operands[0] * operands[1];
  const c = operands[2];
  const s = p + c;
  if (s - s !== 0) return;
  const back = s - p;
  const lost = p - (s - back) + (c - back);
  if (lost > 0 === s > 0 && lost !== 0) {
    halves[0]++;
  } else if (lost !== 0 && halves[0]-- === 0) {
    halves[1]--;
  }
  double[0] = fround(double[0]);
}
function min32(a, b) {
  return a < b ? a : b;
}
function max32(a, b) {
  return a > b ? a : b;
}
function saturate32(a) {
  return min32(max32(a, 0), 1);
}
var tiny = fround(1e-12);
var rsqrtHalf = fround(0.5023863);
var rsqrtFirst = fround(1.5016537);
var rsqrtSecond = fround(1.5023831);
function rsqrt32(a) {
  const x = max32(a, tiny);
  const h = -fround(x * rsqrtHalf);
  single[0] = x;
  bits[0] = 159744e4 - (bits[0] >>> 1);
  let y = single[0];
  y = fround(y * fma32(h, fround(y * y), rsqrtFirst));
  return fround(y * fma32(h, fround(y * y), rsqrtSecond));
}
var toInteger = 12582912;
var sin4 = fround(39.53671);
var sin3 = fround(-76.54978);
var sin2 = fround(81.601006);
var sin1 = fround(-41.341656);
var sin0 = fround(6.283185);
function sin32(t) {
  const q = fround(t - fround(fround(t + toInteger) - toInteger));
  const v = max32(0, fround(0.25 - abs(fround(abs(q) - 0.25))));
  const w = fround(v * v);
  let p = fma32(sin4, w, sin3);
  p = fma32(p, w, sin2);
  p = fma32(p, w, sin1);
  p = fma32(p, w, sin0);
  p = fround(p * v);
  return q < 0 || q === 0 && 1 / q < 0 ? -p : p;
}
var exp5 = fround(0.0013264727);
var exp4 = fround(9671513e-9);
var exp3 = fround(0.055507336);
var exp2 = fround(0.24022242);
var exp1 = fround(0.693147);
function exp232(a) {
  if (!(a >= -126)) return 0;
  const x = min32(a, 128);
  const t = fround(x + toInteger);
  const f2 = fround(x - fround(t - toInteger));
  let p = fma32(exp5, f2, exp4);
  p = fma32(p, f2, exp3);
  p = fma32(p, f2, exp2);
  p = fma32(p, f2, exp1);
  p = fma32(p, f2, 1);
  single[0] = t;
  const n = bits[0] << 23;
  single[0] = p;
  bits[0] = bits[0] + n;
  return single[0];
}
function hash32(a, b, c) {
  let h = imul(hashBits(a), 2654435761) + imul(hashBits(b), 2246822519) + imul(hashBits(c), 3266489917);
  h = imul(h ^ h >>> 16, 2246822507);
  h = imul(h ^ h >>> 13, 3266489909);
  return ((h ^ h >>> 16) >>> 8) * (1 / (1 << 24));
}
function hashBits(a) {
  single[0] = max32(a, -Infinity) + 0;
  const u = bits[0];
  return u ^ u >>> 15;
}

// src/motion/path.ts
var { fround: fround2, imul: imul2 } = Math;
var PathForm = {
  fixed: 0,
  // at center
  linear: 1,
  // from center with velocity
  orbit: 2,
  // around center, on the ellipse of axisU and axisV
  following: 3
  // at center relative to a body, where it was after the last tick
};
function pathAt(p, ticks, tickHz, to) {
  const { form, center } = p;
  if (form === PathForm.linear) {
    const t = fround2(ticks / tickHz);
    for (let i = 0; i < 3; i++) to[i] = center[i] + fround2(p.velocity[i] * t);
  } else if (form === PathForm.orbit) {
    const a = fround2(p.phase + imul2(ticks, p.rate) | 0) * 2 ** -32;
    const u = sin32(fround2(a + 0.25));
    const v = sin32(a);
    for (let i = 0; i < 3; i++) to[i] = fround2(center[i] + fround2(p.axisU[i] * u)) + fround2(p.axisV[i] * v);
  } else {
    for (let i = 0; i < 3; i++) to[i] = center[i];
  }
}
var maxPathNumber = 1e6;
function checkPath(p) {
  if (!(p.form <= PathForm.following)) return `unknown path form ${p.form}`;
  if (!p.center.every(Number.isFinite)) return `the centre ${p.center} is not finite`;
  for (const v of [p.velocity, p.axisU, p.axisV]) {
    if (!v.every((x) => Math.abs(x) <= maxPathNumber)) {
      return `a velocity or axis ${v}; at most ${maxPathNumber} in each direction`;
    }
  }
  return "";
}

// src/motion/extension.ts
var nobody = { slot: 0, generation: 0 };
var zero = new Float32Array(3);
var maxTick = 2 ** 32 - 1;
function firstTick(tick, back) {
  const first = tick + 1 - back;
  if (first < 1 || first > maxTick) fail(`an effect from tick ${first} on`);
  return first;
}
function ticksOf(r, tick) {
  const first = firstTick(tick, r.back);
  if (r.age > first) fail(`an effect that was born ${r.age} ticks before tick ${first}`);
  const last = r.life === 0 ? 0 : first + r.life - 1;
  if (last > maxTick) fail(`an effect with the last tick ${last}`);
  return { born: first - r.age, first, last };
}

// src/motion/effects.ts
var keptTicks = maxBack + 1;
var noNumber = 2 ** 32 - 1;
var Slot = class {
  generation = 0;
  // newest known
  standing = "unknown";
  program = 0;
  first = 0;
  // of the newest record
  last = 0;
  // last tick, 0 for none
  due = false;
  // in Effects.due
  versions = [];
  /** after returns the version that is there after a tick, or null. */
  after(tick) {
    for (let i = this.versions.length - 1; i >= 0; i--) {
      const v = this.versions[i];
      if (v.from > tick) continue;
      const s = v.source;
      return s === null || s.last !== 0 && s.last <= tick ? null : v;
    }
    return null;
  }
};
var bytesOfVersion = 256;
var bytesOfProgram = 4 << 10;
var bytesOfCode = 24;
var Effects = class {
  slots = /* @__PURE__ */ new Map();
  used = [];
  // slots with versions
  due = [];
  // slots with versions that bodies have not been computed with
  slowest = 1;
  // ns per point of the slowest program
  bytes = 0;
  programs = /* @__PURE__ */ new Map();
  replaced = [];
  // that versions still have
  /** addProgram applies a record of a message of that tick. */
  addProgram(p, tick) {
    for (const slot2 of this.used) {
      const e = this.slots.get(slot2);
      if (e.standing === "known" && e.program === p.number && (e.last === 0 || e.last > tick)) {
        fail(`program ${p.number} is replaced while effect ${slot2} has it`);
      }
    }
    const program = load(p.code);
    const bytes = bytesOfProgram + bytesOfCode * p.code.length;
    const before2 = this.programs.get(p.number);
    if (before2) this.replaced.push(before2);
    this.bytes += bytes;
    this.programs.set(p.number, { program, bytes });
    this.slowest = Math.max(this.slowest, program.nanosecondsPerPoint);
  }
  /** add applies a record of a message of that tick. */
  add(r, tick) {
    const { slot: slot2, generation } = r.effect;
    const { born, first, last } = ticksOf(r, tick);
    const e = this.slots.get(slot2) ?? new Slot();
    if (generation < e.generation || generation === e.generation && e.standing !== "left") {
      fail(`effect ${spell(r.effect)} is added, generation ${e.generation} was before it`);
    }
    if (first < e.first) fail(`effect ${spell(r.effect)} acts from tick ${first} on, its slot changed in tick ${e.first}`);
    const program = this.programs.get(r.program)?.program;
    if (program === void 0) return fail(`effect ${spell(r.effect)} has program ${r.program}, which is not known`);
    const { path, leader } = r.way;
    const source = {
      program,
      params: paramsOf(program, r.params),
      mode: r.mode,
      layers: r.layers,
      path,
      leader: noNumber,
      born,
      first,
      last,
      pathBorn: 0
    };
    this.slots.set(slot2, e);
    Object.assign(e, { generation, standing: "known", program: r.program, last });
    this.append(slot2, e, { from: first, source, wakesOld: false, wakesNew: r.age <= 1, leader, applied: false });
  }
  /** change applies a record of a message of that tick. */
  change(r, tick) {
    const first = firstTick(tick, r.back);
    const e = this.find(r.effect, first);
    const v = e.versions[e.versions.length - 1];
    const source = { ...v.source };
    if (r.params !== null) source.params = paramsOf(source.program, r.params);
    if (r.way !== null) Object.assign(source, { path: r.way.path, pathBorn: first, leader: noNumber });
    const leader = r.way?.leader ?? v.leader;
    this.append(r.effect.slot, e, { from: first, source, wakesOld: true, wakesNew: true, leader, applied: false });
  }
  /** end applies a record of a message of that tick. */
  end(r, tick) {
    const first = firstTick(tick, r.back);
    const e = this.find(r.effect, first);
    e.standing = r.left ? "left" : "ended";
    this.append(r.effect.slot, e, {
      from: first,
      source: null,
      wakesOld: !r.left,
      wakesNew: false,
      leader: nobody,
      applied: false
    });
  }
  /** find returns the effect that a record changes from tick first on. */
  find(h, first) {
    const e = this.slots.get(h.slot);
    if (e === void 0 || e.generation !== h.generation || e.standing !== "known") {
      return fail(`a record of effect ${spell(h)}, which is not known`);
    }
    if (first < e.first || e.last !== 0 && e.last < first || e.versions.length === 0) {
      fail(`a record of effect ${spell(h)} from tick ${first} on; it changed in tick ${e.first} and acts to tick ${e.last}`);
    }
    return e;
  }
  /** append adds the newest version of the effect on a slot. */
  append(slot2, e, v) {
    e.first = v.from;
    if (e.versions.push(v) === 1) this.used.push(slot2);
    this.bytes += bytesOf(v);
    if (!e.due) this.due.push(slot2);
    e.due = true;
  }
  /** settle removes from due the slots without versions that bodies were not computed with. */
  settle() {
    keepIf(this.due, (slot2) => {
      const e = this.slots.get(slot2);
      e.due = e.versions.length > 0 && !e.versions[e.versions.length - 1].applied;
      return e.due;
    });
  }
  /** prune forgets what no tick from oldest on needs. */
  prune(oldest) {
    keepIf(this.used, (slot2) => {
      const { versions } = this.slots.get(slot2);
      let n = 0;
      while (n + 1 < versions.length && versions[n + 1].from <= oldest) n++;
      const v = versions[n];
      const over = v.source === null ? v.from <= oldest : v.source.last !== 0 && v.source.last < oldest;
      if (n + 1 === versions.length && v.applied && over) n++;
      for (let i = 0; i < n; i++) this.bytes -= bytesOf(versions[i]);
      if (n > 0) versions.splice(0, n);
      return versions.length > 0;
    });
    if (this.replaced.length > 0) this.forgetReplaced();
  }
  /** forgetReplaced forgets the replaced programs that no version has. */
  forgetReplaced() {
    const needed = new Set(this.used.flatMap((slot2) => this.slots.get(slot2).versions.map((v) => v.source?.program)));
    keepIf(this.replaced, (p) => {
      if (needed.has(p.program)) return true;
      this.bytes -= p.bytes;
      return false;
    });
  }
};
function load(code) {
  try {
    return new Program(code);
  } catch (e) {
    if (e instanceof VerifyError) fail(e.message);
    throw e;
  }
}
function spell(h) {
  return `${h.slot}v${h.generation}`;
}
function bytesOf(v) {
  return bytesOfVersion + 4 * (v.source?.params.length ?? 0);
}
function paramsOf(p, numbers) {
  if (numbers.length === 0) return p.defaults;
  const params = new Float32Array(p.defaults.length);
  let at = 0;
  p.params.forEach((q, i) => {
    if (q.scalar) params.fill(numbers[at], 4 * i, 4 * i + 4);
    else params.set(numbers.subarray(at, at + 4), 4 * i);
    at += q.scalar ? 1 : 4;
  });
  if (at !== numbers.length || !p.allows(params)) {
    fail(`${numbers.length} numbers that do not fit a program with ${p.params.length} parameters`);
  }
  return params;
}
function keepIf(list, keep) {
  let n = 0;
  for (const x of list) if (keep(x)) list[n++] = x;
  list.length = n;
}

// src/motion/exact.ts
var single2 = new Float32Array(1);
var bits2 = new Uint32Array(single2.buffer);
var turns = 32;
function audited(slot2, seq) {
  return slot2 % turns === seq % turns;
}
var words = new Float32Array(6);
var wordBits = new Uint32Array(words.buffer);
function auditBody(sum, slot2, generation, s) {
  words[0] = s.x;
  words[1] = s.y;
  words[2] = s.z;
  words[3] = s.vx;
  words[4] = s.vy;
  words[5] = s.vz;
  let x = fold(fold(sum, slot2), generation);
  for (let i = 0; i < 6; i++) x = fold(x, wordBits[i]);
  return fold(fold(x, s.awake ? 1 : 0), s.rest) >>> 0;
}
function fold(x, v) {
  x = Math.imul(x ^ v, 2654435761);
  return x ^ x >>> 15;
}

// src/field/kernel.ts
function add(to, a, b, _c, _d, n) {
  for (let i = 0; i < n; i += 4) {
    to[i] = a[i] + b[i];
    to[i + 1] = a[i + 1] + b[i + 1];
    to[i + 2] = a[i + 2] + b[i + 2];
    to[i + 3] = a[i + 3] + b[i + 3];
  }
}
function sub(to, a, b, _c, _d, n) {
  for (let i = 0; i < n; i += 4) {
    to[i] = a[i] - b[i];
    to[i + 1] = a[i + 1] - b[i + 1];
    to[i + 2] = a[i + 2] - b[i + 2];
    to[i + 3] = a[i + 3] - b[i + 3];
  }
}
function mul(to, a, b, _c, _d, n) {
  for (let i = 0; i < n; i += 4) {
    to[i] = a[i] * b[i];
    to[i + 1] = a[i + 1] * b[i + 1];
    to[i + 2] = a[i + 2] * b[i + 2];
    to[i + 3] = a[i + 3] * b[i + 3];
  }
}
function div(to, a, b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = a[i] / b[i];
}
function mad(to, a, b, c, _d, n) {
  for (let i = 0; i < n; i += 4) {
    to[i] = fma32(a[i], b[i], c[i]);
    to[i + 1] = fma32(a[i + 1], b[i + 1], c[i + 1]);
    to[i + 2] = fma32(a[i + 2], b[i + 2], c[i + 2]);
    to[i + 3] = fma32(a[i + 3], b[i + 3], c[i + 3]);
  }
}
function nmad(to, a, b, c, _d, n) {
  for (let i = 0; i < n; i += 4) {
    to[i] = fma32(-a[i], b[i], c[i]);
    to[i + 1] = fma32(-a[i + 1], b[i + 1], c[i + 1]);
    to[i + 2] = fma32(-a[i + 2], b[i + 2], c[i + 2]);
    to[i + 3] = fma32(-a[i + 3], b[i + 3], c[i + 3]);
  }
}
function minimum(to, a, b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = a[i] < b[i] ? a[i] : b[i];
}
function maximum(to, a, b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = a[i] > b[i] ? a[i] : b[i];
}
function absolute(to, a, _b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = Math.abs(a[i]);
}
function negate(to, a, _b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = -a[i];
}
function floor2(to, a, _b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = Math.floor(a[i]);
}
function sqrt2(to, a, _b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = Math.sqrt(a[i]);
}
function rsqrt(to, a, _b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = rsqrt32(a[i]);
}
function sin(to, a, _b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = sin32(a[i]);
}
function saturate(to, a, _b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = saturate32(a[i]);
}
function selectLT(to, a, b, c, d, n) {
  for (let i = 0; i < n; i++) to[i] = a[i] < b[i] ? c[i] : d[i];
}
function selectGE(to, a, b, c, d, n) {
  for (let i = 0; i < n; i++) to[i] = a[i] >= b[i] ? c[i] : d[i];
}
function exp22(to, a, _b, _c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = exp232(a[i]);
}
function hash(to, a, b, c, _d, n) {
  for (let i = 0; i < n; i++) to[i] = hash32(a[i], b[i], c[i]);
}
function canonical(out, n) {
  for (let i = 0; i < n; i++) if (out[i] !== out[i]) out[i] = 0;
}

// src/field/machine.ts
var blockPoints = 256;
var kernels = [
  add,
  add,
  add,
  add,
  sub,
  mul,
  div,
  mad,
  nmad,
  minimum,
  maximum,
  absolute,
  negate,
  floor2,
  sqrt2,
  rsqrt,
  sin,
  saturate,
  selectLT,
  selectGE,
  exp22,
  hash
];
var Machine = class {
  position;
  // relative to the effect
  out;
  // programs add to it
  planes = [];
  constructor() {
    for (let i = 0; i < planeCount; i++) this.planes.push(new Float32Array(blockPoints));
    const plane = (i) => this.planes[i];
    this.position = [plane(planePosition), plane(planePosition + 1), plane(planePosition + 2)];
    this.out = [plane(planeOutput), plane(planeOutput + 1), plane(planeOutput + 2)];
  }
  /**
   * Adds the effect at the first n points, at most blockPoints, to out. time is in seconds;
   * params has four lanes for each parameter.
   */
  run(p, time, params, n) {
    const planes = this.planes;
    const code = p.code;
    for (let pc = 0; pc < code.length; pc++) {
      const i = code[pc];
      const to = planes[i.to];
      if (i.op === Op.load) {
        to.fill(uniform(p, i.uniform, time, params), 0, n);
        continue;
      }
      if (i.op === Op.end) break;
      const [a, b, c, d] = i.operands;
      kernels[i.op](to, planes[a], planes[b], planes[c], planes[d], i.same ? 1 : n);
      if (i.same) to.fill(to[0], 1, n);
    }
    for (let lane = 0; lane < 3; lane++) {
      if ((p.sums >> lane & 1) !== 0) canonical(this.out[lane], n);
    }
  }
};
function uniform(p, number, time, params) {
  const i = number - 1;
  return i < 0 ? time : i < params.length ? params[i] : p.literals[i - params.length];
}

// src/motion/stepper.ts
var { fround: fround3, max, min, sqrt: sqrt3 } = Math;
var maxSpeed = 128;
var maxSquare = maxSpeed * maxSpeed;
var maxFloat = fround3(34028234663852886e22);
var hysteresis = 2;
function feels(k, layers) {
  return k.inverseMass !== 0 && (layers === 0 || (layers & k.layers) !== 0);
}
var Stepper = class {
  params;
  kinds = [];
  tickSeconds;
  fall;
  // m/s that gravity adds per tick
  minImpact;
  // m/s; slower impacts do not bounce
  restSquare;
  moveSquare;
  constructor(p) {
    this.params = p;
    this.tickSeconds = fround3(1 / p.tickHz);
    this.fall = fround3(p.gravity * this.tickSeconds);
    this.minImpact = fround3(2 * this.fall + 0.25);
    const moving = fround3(hysteresis * p.restSpeed);
    this.restSquare = fround3(p.restSpeed * p.restSpeed);
    this.moveSquare = fround3(moving * moving);
  }
  /** Returns the duration of ticks. */
  seconds(ticks) {
    return fround3(ticks / this.params.tickHz);
  }
  /** Moves rows [from, to), for which f has the sums, by one tick. */
  step(b, f2, from, to) {
    this.accelerate(b, f2, from, to);
    this.advance(b, from, to);
  }
  /** Applies forces, gravity and maxSpeed to velocities. */
  accelerate(b, f2, from, to) {
    const { wind, push } = f2;
    const dt = this.tickSeconds;
    for (let row = from, i = 0; row < to; row++, i++) {
      const k = this.kinds[b.kind[row]];
      let x = b.vx[row];
      let y = b.vy[row];
      let z = b.vz[row];
      if (k.inverseMass !== 0) {
        const c = k.coupling;
        x = fround3(fround3(x + fround3(fround3(wind.x[i] - x) * c)) + 0);
        y = fround3(fround3(y + fround3(fround3(wind.y[i] - y) * c)) + 0);
        z = fround3(fround3(z + fround3(fround3(wind.z[i] - z) * c)) + 0);
        x = fround3(x + fround3(push.x[i] * dt));
        y = fround3(fround3(y + fround3(push.y[i] * dt)) - this.fall);
        z = fround3(z + fround3(push.z[i] * dt));
      }
      b.vx[row] = x;
      b.vy[row] = y;
      b.vz[row] = z;
      if (!(dot(x, y, z) <= maxSquare)) limit(b, row);
    }
  }
  /**
   * Moves rows by their velocities. The ground comes first: a body that would sink into it
   * is put on it, and moves sideways with the velocity that friction leaves.
   */
  advance(b, from, to) {
    const dt = this.tickSeconds;
    const { halfX, height, halfZ } = this.params;
    for (let row = from; row < to; row++) {
      const k = this.kinds[b.kind[row]];
      let y = fround3(b.y[row] + fround3(b.vy[row] * dt));
      if (y <= k.radius && k.inverseMass !== 0) {
        const depth = fround3(k.radius - y);
        y = k.radius;
        if (b.vy[row] < 0) this.land(b, row, k, depth);
      }
      const x = fround3(b.x[row] + fround3(b.vx[row] * dt));
      const z = fround3(b.z[row] + fround3(b.vz[row] * dt));
      b.x[row] = x;
      b.y[row] = y;
      b.z[row] = z;
      const inside = x >= -halfX && x <= halfX && y >= 0 && y <= height && z >= -halfZ && z <= halfZ;
      if (!inside && this.params.bounds !== "destroy") this.enclose(b, row, k);
    }
  }
  /** Sets the velocity of a falling row after it touched the ground, sunk in by depth. */
  land(b, row, k, depth) {
    const x = b.vx[row];
    const y = b.vy[row];
    const z = b.vz[row];
    const square = fround3(fround3(y * y) - fround3(fround3(2 * this.params.gravity) * depth));
    const bounce = square > fround3(this.minImpact * this.minImpact) ? fround3(fround3(sqrt3(square)) * k.restitution) : 0;
    const grip = fround3(k.friction * fround3(bounce - y));
    const slip = fround3(fround3(x * x) + fround3(z * z));
    b.vy[row] = bounce;
    if (slip <= fround3(grip * grip)) {
      b.vx[row] = b.vz[row] = 0;
      return;
    }
    const keep = fround3(1 - fround3(grip / fround3(sqrt3(slip))));
    b.vx[row] = x * keep;
    b.vz[row] = z * keep;
  }
  /** Puts a row that is outside on the bound. */
  enclose(b, row, k) {
    const { halfX, height, halfZ, bounds } = this.params;
    const x = max(min(b.x[row], halfX), -halfX);
    const y = max(min(b.y[row], height), 0);
    const z = max(min(b.z[row], halfZ), -halfZ);
    const back = bounds === "bounce" ? -k.restitution : 0;
    if (x !== b.x[row]) b.vx[row] = this.rebound(b.vx[row], back);
    if (y !== b.y[row]) b.vy[row] = this.rebound(b.vy[row], back);
    if (z !== b.z[row]) b.vz[row] = this.rebound(b.vz[row], back);
    b.x[row] = x;
    b.y[row] = y;
    b.z[row] = z;
  }
  /** Returns the speed after hitting a bound. */
  rebound(v, share) {
    return share === 0 || v >= -this.minImpact && v <= this.minImpact ? 0 : v * share;
  }
  /** Counts a row's rest after a tick of motion, and reports whether it fell asleep. */
  settle(b, row) {
    const k = this.kinds[b.kind[row]];
    const square = dot(b.vx[row], b.vy[row], b.vz[row]);
    const still = b.vx[row] === 0 && b.vy[row] === 0 && b.vz[row] === 0;
    if (k.inverseMass === 0 ? still : square <= this.restSquare) {
      b.rest[row] = min(b.rest[row] + 1, this.params.restTicks);
    } else if (k.inverseMass === 0 || !(square <= this.moveSquare)) {
      b.rest[row] = 0;
    }
    if (b.rest[row] < this.params.restTicks) return false;
    b.fallAsleep(row);
    return true;
  }
};
function dot(x, y, z) {
  return fround3(fround3(fround3(x * x) + fround3(y * y)) + fround3(z * z));
}
function limit(b, row) {
  const x = b.vx[row];
  const y = b.vy[row];
  const z = b.vz[row];
  if (!(dot(x, y, z) <= maxFloat)) {
    b.vx[row] = b.vy[row] = b.vz[row] = 0;
    return;
  }
  const square = x * x + y * y + z * z;
  if (square <= maxSquare) return;
  const share = maxSpeed / sqrt3(square);
  b.vx[row] = x * share;
  b.vy[row] = y * share;
  b.vz[row] = z * share;
}

// src/motion/forces.ts
var { fround: fround4 } = Math;
var Mode = {
  wind: 0,
  // m/s; it drags bodies along
  acceleration: 1
  // m/s2
};
function contains(e, c, x, y, z) {
  const box = e.program.box;
  if (box === null) return true;
  const { min: min2, max: max2 } = box;
  x = fround4(x - c[0]);
  y = fround4(y - c[1]);
  z = fround4(z - c[2]);
  return x >= min2[0] && x <= max2[0] && y >= min2[1] && y <= max2[1] && z >= min2[2] && z <= max2[2];
}
var Planes = class {
  x = new Float32Array(blockPoints);
  y = new Float32Array(blockPoints);
  z = new Float32Array(blockPoints);
  zero() {
    this.x.fill(0);
    this.y.fill(0);
    this.z.fill(0);
  }
  add(o, n) {
    for (let i = 0; i < n; i++) {
      this.x[i] += o.x[i];
      this.y[i] += o.y[i];
      this.z[i] += o.z[i];
    }
  }
};
var Forces = class {
  wind = new Planes();
  push = new Planes();
  points = 0;
  // at which effects were evaluated, summed over effects
  effects = [];
  group = new Planes();
  machine = new Machine();
  rows = new Uint16Array(blockPoints);
  // of the machine's lanes
  reset() {
    this.effects.length = 0;
    this.points = 0;
  }
  /** Adds an effect. Call it in ascending order of mode, layers and slot. */
  add(e) {
    this.effects.push(e);
  }
  /**
   * Sums the effects at rows [from, to), at most blockPoints: group by group, a group being
   * a mode and layers, and within a group in the order of add. A sum starts at +0 and is
   * therefore never -0: adding a group that is elsewhere changes no bit.
   */
  sum(b, kinds2, from, to) {
    const { effects, group } = this;
    this.wind.zero();
    this.push.zero();
    for (let i = 0; i < effects.length; ) {
      const { mode, layers } = effects[i];
      const total = mode === Mode.wind ? this.wind : this.push;
      const sum = layers === 0 ? total : group;
      if (sum === group) group.zero();
      for (; i < effects.length && effects[i].mode === mode && effects[i].layers === layers; i++) {
        const lanes2 = this.gather(effects[i], sum, b, kinds2, from, to);
        if (lanes2 > 0) this.evaluate(effects[i], sum, lanes2);
      }
      if (sum === group) total.add(group, to - from);
    }
  }
  /** Loads the rows that feel e and are in its reach into the machine, and returns how many. */
  gather(e, sum, b, kinds2, from, to) {
    const [px, py, pz] = this.machine.position;
    const [ox, oy, oz] = this.machine.out;
    const box = e.program.box;
    const origin = e.center[0] === 0 && e.center[1] === 0 && e.center[2] === 0;
    const cx = origin ? 0 : e.center[0];
    const cy = origin ? 0 : e.center[1];
    const cz = origin ? 0 : e.center[2];
    let n = 0;
    for (let row = from; row < to; row++) {
      if (!feels(kinds2[b.kind[row]], e.layers)) continue;
      const x = fround4(b.x[row] - cx);
      const y = fround4(b.y[row] - cy);
      const z = fround4(b.z[row] - cz);
      if (box !== null && !(x >= box.min[0] && x <= box.max[0] && y >= box.min[1] && y <= box.max[1] && z >= box.min[2] && z <= box.max[2])) {
        continue;
      }
      const i = row - from;
      px[n] = x;
      py[n] = y;
      pz[n] = z;
      ox[n] = sum.x[i];
      oy[n] = sum.y[i];
      oz[n] = sum.z[i];
      this.rows[n++] = i;
    }
    return n;
  }
  evaluate(e, sum, lanes2) {
    const { machine, rows } = this;
    const [ox, oy, oz] = machine.out;
    this.points += lanes2;
    machine.run(e.program, e.time, e.params, lanes2);
    for (let n = 0; n < lanes2; n++) {
      const i = rows[n];
      sum.x[i] = ox[n];
      sum.y[i] = oy[n];
      sum.z[i] = oz[n];
    }
  }
};

// src/motion/sim.ts
var Acting = class {
  slot;
  center = new Float32Array(3);
  program;
  params;
  mode;
  layers;
  source;
  time = 0;
  constructor(slot2, s) {
    this.slot = slot2;
    this.source = s;
    this.program = s.program;
    this.params = s.params;
    this.mode = s.mode;
    this.layers = s.layers;
  }
};
function bySlot(a, b) {
  return a.slot - b.slot;
}
function bySum(a, b) {
  return a.mode - b.mode || a.layers - b.layers || a.slot - b.slot;
}
function insert(list, e, order) {
  let at = list.length;
  while (at > 0 && order(list[at - 1], e) > 0) at--;
  list.splice(at, 0, e);
}
var Sim = class {
  now;
  // last tick
  awake = 0;
  // rows below it are awake
  stepper;
  bodies = new Columns();
  rowOf = new Int32Array(64).fill(-1);
  // by number; -1 for none
  settled = new Uint32Array(64);
  // numbers of the bodies that fell asleep in the last tick
  settledCount = 0;
  slots = [];
  bySlot = [];
  ordered = [];
  // by mode, layers, slot
  forces = new Forces();
  old = new Float32Array(3);
  moved = new Float32Array(3);
  /** An empty Sim after a tick. */
  constructor(p, tick) {
    this.stepper = new Stepper(p);
    this.now = tick;
  }
  /** Removes all bodies and effects, and sets the last tick. */
  reset(tick) {
    const b = this.bodies;
    for (let row = 0; row < b.length; row++) this.rowOf[b.number[row]] = -1;
    this.now = tick;
    this.awake = this.settledCount = b.length = 0;
    this.slots.length = this.bySlot.length = this.ordered.length = 0;
  }
  /** Sets the constants of a kind. */
  setKind(kind, constants) {
    const { kinds: kinds2 } = this.stepper;
    while (kinds2.length <= kind) kinds2.push(constants);
    kinds2[kind] = constants;
  }
  get length() {
    return this.bodies.length;
  }
  /** Returns the number of effects. */
  get effects() {
    return this.bySlot.length;
  }
  /** Adds a body, or corrects it, as of the last tick. */
  put(number, kind, s) {
    let row = this.row(number);
    if (row < 0) row = this.add(number);
    this.bodies.kind[row] = kind;
    this.bodies.set(row, s);
    if (s.awake && row >= this.awake) {
      this.swap(row, this.awake++);
    } else if (!s.awake && row < this.awake) {
      this.swap(row, --this.awake);
    }
  }
  /** Sets s to a body's state after the last tick, and returns false if there is no such body. */
  state(number, s) {
    const row = this.row(number);
    if (row < 0) return false;
    this.bodies.get(row, s);
    s.awake = row < this.awake;
    return true;
  }
  /** Removes a body, if there is one of that number. */
  drop(number) {
    let row = this.row(number);
    if (row < 0) return;
    if (row < this.awake) {
      this.swap(row, --this.awake);
      row = this.awake;
    }
    this.swap(row, this.bodies.length - 1);
    this.rowOf[number] = -1;
    this.bodies.length--;
  }
  /**
   * Adds or replaces the effect on a slot, which acts from the next tick on if its first
   * tick allows. If wake is set, the bodies in the old and the new reach wake now. It
   * throws if parameters do not fit the program, or the path is invalid.
   */
  setEffect(slot2, s, wake) {
    const wrong = checkPath(s.path);
    if (wrong !== "") throw new RangeError(`motion: ${wrong}`);
    if (s.params.length !== s.program.defaults.length) {
      throw new RangeError(`motion: ${s.params.length} lanes of parameters, not ${s.program.defaults.length}`);
    }
    this.endEffect(slot2, wake);
    while (this.slots.length <= slot2) this.slots.push(null);
    const e = new Acting(slot2, s);
    this.slots[slot2] = e;
    insert(this.bySlot, e, bySlot);
    insert(this.ordered, e, bySum);
    if (!this.centerAt(s, e.center)) e.center.set(s.path.center);
    if (wake) this.wake(e, e.center);
  }
  /** Removes the effect on a slot, if there is one. If wake is set, the bodies in its reach wake now. */
  endEffect(slot2, wake) {
    const e = this.slots[slot2];
    if (!e) return;
    this.slots[slot2] = null;
    this.bySlot.splice(this.bySlot.indexOf(e), 1);
    this.ordered.splice(this.ordered.indexOf(e), 1);
    if (wake) this.wake(e, e.center);
  }
  /** Moves everything by one tick. */
  tick() {
    this.tickWithin(Infinity);
  }
  /**
   * Is tick unless effects had to be evaluated at more than most points. It then returns
   * false, the tick is unfinished, and only reset may follow.
   */
  tickWithin(most) {
    this.now++;
    this.moveEffects();
    this.gatherForces();
    for (let from = 0; from < this.awake; from += blockPoints) {
      const to = Math.min(from + blockPoints, this.awake);
      this.forces.sum(this.bodies, this.stepper.kinds, from, to);
      if (this.forces.points > most) return false;
      this.stepper.step(this.bodies, this.forces, from, to);
    }
    this.settle();
    for (let i = 0; i < this.bySlot.length; ) {
      const e = this.bySlot[i];
      if (e.source.last === this.now) this.endEffect(e.slot, true);
      else i++;
    }
    return true;
  }
  /** Returns the number of points at which the last tick evaluated effects. */
  get points() {
    return this.forces.points;
  }
  /**
   * Calls f with the state of each body that the last tick may have changed: those that are
   * awake and those that fell asleep. s is used again for each.
   */
  changed(s, f2) {
    const b = this.bodies;
    for (let row = 0; row < this.awake; row++) {
      b.get(row, s);
      s.awake = true;
      f2(b.number[row], s);
    }
    for (let i = 0; i < this.settledCount; i++) {
      const number = this.settled[i];
      if (this.state(number, s)) f2(number, s);
    }
  }
  /**
   * Sets the wind and acceleration at points, as bodies of that kind felt them in the last
   * tick: of rows [from, to), at most blockPoints, to the first planes of the result.
   */
  forcesAt(points, kind, from, to) {
    this.forces.sum(points, [kind], from, to);
    return this.forces;
  }
  /** Moves the centres of effects and wakes the bodies in their old and new reach. */
  moveEffects() {
    const { old, moved } = this;
    for (let i = 0; i < this.bySlot.length; i++) {
      const e = this.bySlot[i];
      if (!this.centerAt(e.source, moved)) continue;
      const c = e.center;
      if (c[0] === moved[0] && c[1] === moved[1] && c[2] === moved[2]) continue;
      old.set(c);
      c.set(moved);
      this.wake(e, old);
    }
  }
  /**
   * Sets to to an effect's centre in the tick now, or in its first one if that is later. It
   * returns false if the effect follows a body that is not there, and stays where it is.
   */
  centerAt(s, to) {
    const from = s.pathBorn === 0 ? s.born : s.pathBorn;
    pathAt(s.path, Math.max(this.now, s.first, from) - from, this.stepper.params.tickHz, to);
    if (s.path.form !== PathForm.following) return true;
    const row = this.row(s.leader);
    if (row < 0) return false;
    to[0] += this.bodies.x[row];
    to[1] += this.bodies.y[row];
    to[2] += this.bodies.z[row];
    return true;
  }
  /** Collects the effects that act in this tick. */
  gatherForces() {
    this.forces.reset();
    for (let i = 0; i < this.ordered.length; i++) {
      const e = this.ordered[i];
      if (e.source.first > this.now) continue;
      e.time = this.stepper.seconds(this.now - e.source.born);
      this.forces.add(e);
    }
  }
  /** Wakes the bodies that feel e and are in its reach, or were with its centre at old. */
  wake(e, old) {
    const b = this.bodies;
    for (let row = 0; row < b.length; row++) {
      if (row < this.awake && b.rest[row] === 0) continue;
      if (!feels(this.stepper.kinds[b.kind[row]], e.layers)) continue;
      const x = b.x[row];
      const y = b.y[row];
      const z = b.z[row];
      if (!contains(e, e.center, x, y, z) && !contains(e, old, x, y, z)) continue;
      b.rest[row] = 0;
      if (row >= this.awake) this.swap(row, this.awake++);
    }
  }
  /** Counts the rest of awake bodies. */
  settle() {
    const b = this.bodies;
    this.settledCount = 0;
    for (let row = this.awake - 1; row >= 0; row--) {
      if (!this.stepper.settle(b, row)) continue;
      this.settled[this.settledCount++] = b.number[row];
      this.swap(row, --this.awake);
    }
  }
  row(number) {
    return number < this.rowOf.length ? this.rowOf[number] : -1;
  }
  /** Adds a sleeping row. */
  add(number) {
    const row = this.bodies.add();
    if (number >= this.rowOf.length) {
      const old = this.rowOf;
      this.rowOf = new Int32Array(Math.max(2 * old.length, number + 1)).fill(-1);
      this.rowOf.set(old);
    }
    if (row >= this.settled.length) {
      const old = this.settled;
      this.settled = new Uint32Array(this.bodies.x.length);
      this.settled.set(old);
    }
    this.rowOf[number] = row;
    this.bodies.number[row] = number;
    return row;
  }
  swap(i, j) {
    if (i === j) return;
    const { number } = this.bodies;
    this.bodies.swap(i, j);
    this.rowOf[number[i]] = i;
    this.rowOf[number[j]] = j;
  }
};

// src/motion/track.ts
var Ring = class {
  floats;
  rest;
  awake;
  mask;
  constructor(ticks) {
    this.floats = new Float32Array(6 * ticks);
    this.rest = new Uint32Array(ticks);
    this.awake = new Uint8Array(ticks);
    this.mask = ticks - 1;
  }
  set(tick, s) {
    const i = tick & this.mask;
    const f2 = this.floats;
    f2[6 * i] = s.x;
    f2[6 * i + 1] = s.y;
    f2[6 * i + 2] = s.z;
    f2[6 * i + 3] = s.vx;
    f2[6 * i + 4] = s.vy;
    f2[6 * i + 5] = s.vz;
    this.rest[i] = s.rest;
    this.awake[i] = s.awake ? 1 : 0;
  }
  get(tick, s) {
    const i = tick & this.mask;
    const f2 = this.floats;
    s.x = f2[6 * i];
    s.y = f2[6 * i + 1];
    s.z = f2[6 * i + 2];
    s.vx = f2[6 * i + 3];
    s.vy = f2[6 * i + 4];
    s.vz = f2[6 * i + 5];
    s.rest = this.rest[i];
    s.awake = this.awake[i] !== 0;
    return s;
  }
};
var Rings = class {
  ticks;
  free = [];
  constructor(ticks) {
    this.ticks = ticks;
  }
  take() {
    return this.free.pop() ?? new Ring(this.ticks);
  }
  give(r) {
    if (r !== null && this.free.length < 256) this.free.push(r);
  }
};
var rested = new State();
var Track = class {
  slot = 0;
  generation = 0;
  number;
  // in a Sim
  kind = 0;
  given = new State();
  // newest that the server sent, as of at
  at = 0;
  fresh = false;
  // the body has not been computed from given yet
  ghost = false;
  // the entity has gone, but an effect still follows it in ticks to compute
  lost = false;
  // the body is not computed: the client was out of time
  late = false;
  // the body is being computed from at to now
  // ring holds the states of ticks first to last; null means that the body was given and last
  // in all of them. After last nothing changed.
  ring = null;
  first = 0;
  last = 0;
  constructor(number) {
    this.number = number;
  }
  /** begin forgets all states but one. */
  begin(tick, s) {
    this.first = this.last = tick;
    this.ring?.set(tick, s);
  }
  /** state sets s to the state after a tick; before the first one known, that. */
  state(tick, s) {
    if (this.ring === null) return s.copy(this.given);
    return this.ring.get(Math.min(Math.max(tick, this.first), this.last), s);
  }
  /** keep begins to keep states. */
  keep(rings) {
    if (this.ring === null) {
      this.ring = rings.take();
      this.ring.set(this.last, this.given);
    }
    return this.ring;
  }
  /** record sets the state after a tick and forgets later ones. */
  record(tick, s, rings) {
    const ring = this.keep(rings);
    const { ticks } = rings;
    if (tick <= this.first) {
      this.begin(tick, s);
      return;
    }
    this.last = Math.min(this.last, tick - 1);
    if (this.last < tick - 1) {
      ring.get(this.last, rested);
      for (let i = Math.max(this.last + 1, tick - ticks + 1); i < tick; i++) ring.set(i, rested);
    }
    ring.set(tick, s);
    this.last = tick;
    if (tick - this.first >= ticks) this.first = tick - ticks + 1;
  }
};

// src/motion/bodies.ts
var stepBudget = 5e7;
var tickTime = 1e3;
var bodyTime = 60;
var reachTime = 4;
var bytesOfTrack = 400;
var bytesOfState = 29;
var Bodies = class {
  stats = { clean: 0, owed: 0, steps: 0, rerun: 0, audited: 0, faults: 0, overruns: 0 };
  now = 0;
  // tick of sim; 0: none
  options;
  kinds = /* @__PURE__ */ new Map();
  sim;
  again;
  // computes past ticks
  effects = new Effects();
  rings;
  seats = [];
  seatOf = /* @__PURE__ */ new Map();
  // by slot
  numbered = [];
  free = [];
  // numbers
  waiting = [];
  // fresh ones
  ghosts = [];
  // of entities that have gone, but lead
  redone = [];
  audit = [];
  snapshots = [];
  // applied, by seq modulo 64
  overrun = false;
  // bodies are lost: Resync
  diverged = false;
  // the newest audit failed: Resync
  reported = false;
  // and diverge knows
  left = 0;
  // of the budget, in ns
  state = new State();
  before = new State();
  record = (number, s) => this.numbered[number].record(this.now, s, this.rings);
  rewrite = (number, s) => {
    const t = this.numbered[number];
    if (t.late && t.at < this.again.now) t.record(this.again.now, s, this.rings);
  };
  /** constructor throws if the schema's bodies move otherwise than in this package. */
  constructor(o) {
    const m = o.motion;
    if (!(m.tickHz >= 1 && m.tickHz <= 1e3)) fail(`bodies move at ${m.tickHz} ticks a second`);
    if (m.maxSpeed !== maxSpeed) fail(`the highest speed of bodies is ${m.maxSpeed} m/s, not ${maxSpeed}`);
    this.options = o;
    let ticks = keptTicks;
    while (ticks < 512 && ticks < 0.75 * m.tickHz) ticks *= 2;
    this.rings = new Rings(ticks);
    this.sim = new Sim(m, 0);
    this.again = new Sim(m, 0);
    o.kinds.forEach((k, i) => k.body !== void 0 && this.addKind(i, k.body));
    for (let i = 0; i < 64; i++) {
      this.snapshots.push({ seq: 0, tick: 0, structure: 0, complete: false, continued: false, audited: false, audit: 0 });
    }
  }
  /** hasKind reports whether entities of a kind can have exact states. */
  hasKind(kind) {
    return this.kinds.has(kind);
  }
  /** bytes is the memory of all bodies and effects, for the replica's limit. */
  get bytes() {
    return this.effects.bytes + 128 * this.effects.slots.size + this.numbered.length * this.bytesOfNew + 256 * this.kinds.size;
  }
  /** bytesOfNew is the memory of one more body. */
  get bytesOfNew() {
    return bytesOfTrack + this.rings.ticks * bytesOfState;
  }
  /**
   * extend applies an Extension record of a message of that tick, while the message is
   * checked: nothing shows effects before the next complete snapshot, and an error ends the
   * session. lives says which entities are Live after the records before it.
   */
  extend(x, tick, lives) {
    switch (x.type) {
      case "program":
        this.effects.addProgram(x, tick);
        break;
      case "added":
        checkLeader(x.way, lives);
        this.effects.add(x, tick);
        break;
      case "changed":
        checkLeader(x.way, lives);
        this.effects.change(x, tick);
        break;
      case "ended":
        this.effects.end(x, tick);
        break;
      case "kind":
        if (x.kind < this.options.kinds.length || this.kinds.has(x.kind)) fail(`kind ${x.kind} is added, which is known`);
        this.addKind(x.kind, x.body);
    }
  }
  addKind(kind, constants) {
    this.kinds.set(kind, constants);
    this.sim.setKind(kind, constants);
    this.again.setKind(kind, constants);
  }
  /** entered applies an Enter with the entity's state after a tick, null for an ordinary one. */
  entered(h, kind, tick, s) {
    let seat = this.seatOf.get(h.slot);
    if (seat !== void 0 && seat.generation !== h.generation) {
      this.gone(h.slot);
      seat = void 0;
    }
    if (seat === void 0) {
      seat = { slot: h.slot, generation: h.generation, kind, tick, index: this.seats.length, track: null };
      this.seatOf.set(h.slot, seat);
      this.seats.push(seat);
    }
    seat.kind = kind;
    seat.tick = tick;
    if (s === null) this.release(seat);
    else this.give(seat, tick, s, true);
  }
  /** updated applies a row that became the newest state of a slot's entity. */
  updated(slot2, tick, s) {
    const seat = this.seatOf.get(slot2);
    seat.tick = tick;
    if (s === null) {
      this.release(seat);
      return;
    }
    this.stats.owed++;
    this.give(seat, tick, s, false);
  }
  /** gone removes the entity of a slot, which left or died. */
  gone(slot2) {
    const seat = this.seatOf.get(slot2);
    if (seat === void 0) return;
    this.release(seat);
    this.seatOf.delete(slot2);
    const last = this.seats.pop();
    if (last !== seat) {
      last.index = seat.index;
      this.seats[seat.index] = last;
    }
  }
  /** release makes an entity ordinary. */
  release(seat) {
    const t = seat.track;
    if (t === null) return;
    seat.track = null;
    this.stats.clean--;
    if (this.leads(t)) {
      t.ghost = true;
      this.ghosts.push(t);
    } else {
      this.forget(t);
    }
  }
  /** forget removes a body. */
  forget(t) {
    this.numbered[t.number] = null;
    this.free.push(t.number);
    this.sim.drop(t.number);
    this.rings.give(t.ring);
    if (t.fresh) keepIf(this.waiting, (w) => w !== t);
  }
  /** leads reports whether an effect follows a body. */
  leads(t) {
    return this.effects.used.some((slot2) => this.effects.slots.get(slot2).versions.some((v) => follows(v) && same(v.leader, t)));
  }
  /** give sets the exact state of an entity after a tick. entered says that earlier ones are forgotten. */
  give(seat, tick, s, entered) {
    let t = seat.track;
    if (t === null) {
      t = new Track(this.free.pop() ?? this.numbered.length);
      this.numbered[t.number] = t;
      seat.track = t;
      this.stats.clean++;
      entered = true;
    }
    if (entered) {
      t.slot = seat.slot;
      t.generation = seat.generation;
      t.kind = seat.kind;
      t.given.copy(s);
      t.begin(tick, s);
      this.sim.drop(t.number);
    } else {
      t.keep(this.rings);
    }
    t.given.copy(s);
    t.at = tick;
    t.lost = false;
    if (!t.fresh) {
      t.fresh = true;
      this.waiting.push(t);
    }
  }
  /**
   * applied notes an applied snapshot, and computes all bodies up to the tick of a complete
   * one if that is the newest and all that are linked to it were applied. structure is the
   * client's structure number.
   */
  applied(h, structure2) {
    const kept = this.snapshots[h.seq % 64];
    kept.seq = h.seq;
    kept.tick = h.tick;
    kept.structure = h.structure;
    kept.complete = h.complete;
    kept.continued = h.continued;
    kept.audited = h.audited;
    kept.audit = h.audit;
    let last = h.seq;
    while (this.seen(last + 1)?.continued) last++;
    for (let seq = last; seq >= h.seq; seq--) {
      const s = this.seen(seq);
      if (s.complete && s.tick > this.now && this.linked(seq)) {
        this.complete(s, structure2);
        return;
      }
    }
  }
  seen(seq) {
    const s = this.snapshots[seq % 64];
    return s.seq === seq && seq !== 0 ? s : null;
  }
  /** linked reports whether all snapshots that an applied one continues were applied. */
  linked(seq) {
    const { tick } = this.seen(seq);
    for (let s = this.seen(seq); s !== null && s.tick === tick; s = this.seen(--seq)) {
      if (!s.continued) return true;
    }
    return false;
  }
  /** complete computes all bodies up to the tick of a snapshot, and checks its audit. */
  complete(s, structure2) {
    this.findLeaders();
    this.left = stepBudget;
    if (this.now === 0) this.restart(s.tick);
    if (!this.catchUp() || !this.advance(s.tick)) this.giveUp(s.tick);
    this.effects.settle();
    this.effects.prune(this.now - Math.min(this.now, keptTicks));
    if (this.ghosts.length > 0) this.dropGhosts();
    if (s.audited && s.structure === structure2) this.checkAudit(s);
  }
  dropGhosts() {
    keepIf(this.ghosts, (t) => {
      const leads = this.leads(t);
      if (!leads) this.forget(t);
      return leads;
    });
  }
  /** findLeaders finds the bodies that effects follow. */
  findLeaders() {
    for (const slot2 of this.effects.used) {
      for (const v of this.effects.slots.get(slot2).versions) {
        if (!follows(v)) continue;
        const number = this.numberOf(v.leader);
        if (number === v.source.leader) continue;
        v.source.leader = number;
        if (v.applied && this.now !== 0) {
          this.sim.endEffect(slot2, false);
          this.install(this.sim, slot2, this.now);
        }
      }
    }
  }
  /** numberOf returns the number of an entity's body. */
  numberOf(h) {
    const seat = this.seatOf.get(h.slot);
    const t = seat?.generation === h.generation ? seat.track : null;
    return (t ?? this.ghosts.find((g) => same(h, g)))?.number ?? noNumber;
  }
  /** restart empties sim at a tick. */
  restart(tick) {
    this.now = tick;
    this.sim.reset(tick);
    for (const slot2 of this.effects.used) {
      for (const v of this.effects.slots.get(slot2).versions) v.applied ||= v.from <= tick;
      this.install(this.sim, slot2, tick);
    }
  }
  /** giveUp empties sim at a tick: all bodies stand still until the server sends their states again. */
  giveUp(tick) {
    this.stats.overruns++;
    this.overrun = true;
    this.restart(tick);
    for (const t of this.numbered) {
      if (t !== null && (!t.fresh || t.at <= tick)) {
        t.lost = true;
        t.fresh = t.late = false;
      }
    }
    keepIf(this.waiting, (t) => t.fresh);
  }
  /** install puts the effect on a slot, as it is after a tick, into a sim of that tick. It wakes nothing. */
  install(m, slot2, tick) {
    const v = this.effects.slots.get(slot2).after(tick);
    if (v === null) return;
    const source = v.source;
    if (!follows(v) || source.leader === noNumber) {
      m.setEffect(slot2, source, false);
      return;
    }
    const leader = this.numbered[source.leader];
    m.put(leader.number, leader.kind, leader.state(tick - 1, this.state));
    m.setEffect(slot2, source, false);
    m.put(leader.number, leader.kind, leader.state(tick, this.state));
  }
  /** apply applies the versions of effects from a tick on to a sim of the tick before. */
  apply(m, slots2, tick) {
    for (const slot2 of slots2) {
      for (const v of this.effects.slots.get(slot2).versions) {
        if (v.from !== tick) continue;
        m.endEffect(slot2, v.wakesOld);
        if (v.source !== null) m.setEffect(slot2, v.source, v.wakesNew);
        v.applied = true;
      }
    }
  }
  /** advance computes all bodies up to a tick. It returns false if that takes too long. */
  advance(tick) {
    while (this.now < tick) {
      this.put();
      this.apply(this.sim, this.effects.due, this.now + 1);
      this.now++;
      if (!this.tick(this.sim)) return false;
      this.sim.changed(this.state, this.record);
    }
    this.put();
    return true;
  }
  /** put gives sim the states of its tick. */
  put() {
    if (this.waiting.length === 0) return;
    keepIf(this.waiting, (t) => {
      if (t.at !== this.now) return true;
      t.fresh = false;
      this.start(t);
      this.sim.put(t.number, t.kind, t.given);
      return false;
    });
  }
  /** tick moves a sim by one tick, within the budget. */
  tick(m) {
    const { awake } = m;
    this.left -= tickTime + bodyTime * awake + reachTime * m.length * m.effects;
    if (this.left < 0) return false;
    const { slowest } = this.effects;
    const ok = m.tickWithin(this.left / slowest);
    this.left -= slowest * m.points;
    this.stats.steps += awake;
    return ok;
  }
  /**
   * catchUp computes the bodies whose states are of earlier ticks up to now, by the effects
   * of those ticks. Nothing else changes in ticks computed before. It returns false if that
   * takes too long.
   */
  catchUp() {
    this.redone.length = 0;
    for (const t of this.waiting) {
      if (t.at > this.now) continue;
      t.late = true;
      this.redone.push(t);
    }
    this.replaceLate();
    if (this.redone.length === 0) return true;
    if (!this.computeAgain()) return false;
    keepIf(this.waiting, (t) => t.fresh);
    return true;
  }
  /** replaceLate brings the effects whose records arrived after their ticks were computed up to now. */
  replaceLate() {
    for (const slot2 of this.effects.due) {
      let late = false;
      for (const v of this.effects.slots.get(slot2).versions) {
        if (v.applied || v.from > this.now) continue;
        v.applied = late = true;
      }
      if (late) {
        this.sim.endEffect(slot2, false);
        this.install(this.sim, slot2, this.now);
      }
    }
  }
  /** computeAgain computes redone up to now and puts them into sim. */
  computeAgain() {
    let from = this.now;
    for (const t of this.redone) from = Math.min(from, t.at);
    if (from < this.now) {
      this.again.reset(from);
      for (const slot2 of this.effects.used) this.install(this.again, slot2, from);
    }
    for (let tick = from; tick < this.now; tick++) {
      this.putAgain(tick);
      this.apply(this.again, this.effects.used, tick + 1);
      if (!this.tick(this.again)) return false;
      this.stats.rerun += this.again.awake;
      this.again.changed(this.state, this.rewrite);
    }
    for (const t of this.redone) {
      this.state.copy(t.given);
      if (t.at < this.now) this.again.state(t.number, this.state);
      else this.start(t);
      t.fresh = t.late = false;
      this.sim.put(t.number, t.kind, this.state);
    }
    return true;
  }
  /** putAgain puts the bodies that begin at a tick, and those that effects follow. */
  putAgain(tick) {
    for (const t of this.redone) {
      if (t.at !== tick) continue;
      this.start(t);
      this.again.put(t.number, t.kind, t.given);
    }
    for (const slot2 of this.effects.used) {
      for (const v of this.effects.slots.get(slot2).versions) {
        const t = follows(v) ? this.numbered[v.source.leader] : null;
        if (t && (!t.late || t.at > tick)) this.again.put(t.number, t.kind, t.state(tick, this.state));
      }
    }
  }
  /** start forgets the states of a body after the one that was given. */
  start(t) {
    if (t.ring !== null) t.record(t.at, t.given, this.rings);
  }
  /** checkAudit compares the audit of a complete snapshot with the bodies computed. */
  checkAudit(s) {
    this.audit.length = 0;
    for (const seat of this.seats) {
      if (!audited(seat.slot, s.seq)) continue;
      const t = seat.track;
      if (seat.tick > s.tick || t?.lost) return;
      if (t !== null) this.audit.push(t);
    }
    this.audit.sort((a, b) => a.slot - b.slot);
    let sum = 0;
    for (const t of this.audit) sum = auditBody(sum, t.slot, t.generation, t.state(s.tick, this.state));
    this.stats.audited++;
    if (sum === s.audit) {
      this.diverged = this.reported = false;
      return;
    }
    this.stats.faults++;
    this.diverged = true;
    if (this.reported) return;
    this.reported = true;
    this.options.diverge?.(s.tick, this.audit.map(({ slot: slot2, generation }) => ({ slot: slot2, generation })));
  }
  /** needsResync reports once that the server should send all states again. */
  needsResync() {
    const need = this.overrun || this.diverged;
    this.overrun = this.diverged = false;
    return need;
  }
  /**
   * exact sets s to the newest state of the body in a slot and returns the tick after which
   * the server's body had it, to the bit; 0 if the slot's entity is not computed.
   */
  exact(slot2, s) {
    const t = this.seatOf.get(slot2)?.track;
    if (!t || t.lost) return 0;
    if (t.fresh && t.at >= this.now) {
      s.copy(t.given);
      return t.at;
    }
    t.state(this.now, s);
    return this.now;
  }
  /** forcesAt sets the wind and acceleration at points in the newest tick: see Sim.forcesAt. */
  forcesAt(points, kind, from, to) {
    return this.sim.forcesAt(points, kind, from, to);
  }
  /** isComputed reports whether the entity in a slot is exact. */
  isComputed(slot2) {
    return Boolean(this.seatOf.get(slot2)?.track);
  }
  /**
   * at sets to to the state next to a moment, and s to the state in the moment, in ticks with
   * fractions, at most extrapolate ticks beyond the newest. from has the state before, which
   * tells jumps. It returns false for ordinary entities.
   */
  at(slot2, moment, extrapolate, s, from, to) {
    const t = this.seatOf.get(slot2)?.track;
    if (!t) return false;
    const now2 = t.fresh ? Math.max(this.now, t.last) : this.now;
    const tick = Math.floor(Math.min(Math.max(moment, 0), 2 ** 32 - 2));
    t.state(Math.min(tick, now2), from);
    if (tick < now2) {
      mix(from, t.state(tick + 1, to), moment - tick, s);
      return true;
    }
    to.copy(from);
    mix(t.state(Math.max(now2 - 1, 0), this.before), from, 1 + Math.min(moment - now2, extrapolate), s);
    return true;
  }
};
function mix(a, b, share, s) {
  s.copy(b);
  s.x = a.x + (b.x - a.x) * share;
  s.y = a.y + (b.y - a.y) * share;
  s.z = a.z + (b.z - a.z) * share;
  s.vx = a.vx + (b.vx - a.vx) * share;
  s.vy = a.vy + (b.vy - a.vy) * share;
  s.vz = a.vz + (b.vz - a.vz) * share;
}
function follows(v) {
  return v.source !== null && v.source.path.form === PathForm.following;
}
function same(a, b) {
  return a.slot === b.slot && a.generation === b.generation;
}
function checkLeader(way, lives) {
  if (way !== null && way.path.form === PathForm.following && !lives(way.leader)) {
    fail(`an effect follows ${way.leader.slot}v${way.leader.generation}, which is not in view`);
  }
}

// src/clock.ts
var slewShare = 16;
var stepAbove = 250;
var lostAbove = 500;
var jitterShare = 16;
var intervalShare = 8;
var slots = 8;
var slot = 500;
var Least = class {
  values = new Float64Array(slots).fill(Infinity);
  newest = -1;
  // number of the newest slot
  add(now2, v) {
    const n = Math.floor(now2 / slot);
    if (this.newest < 0 || n - this.newest >= slots) {
      this.newest = n;
      this.values.fill(Infinity);
    }
    while (this.newest < n) this.values[++this.newest % slots] = Infinity;
    const at = this.newest % slots;
    this.values[at] = Math.min(this.values[at], v);
  }
  /** least is 0 before the first value. */
  get least() {
    let least = Infinity;
    for (let i = 0; i < slots; i++) least = Math.min(least, this.values[i]);
    return least === Infinity ? 0 : least;
  }
  reset() {
    this.newest = -1;
    this.values.fill(Infinity);
  }
};
var Clock = class {
  hz;
  trips = new Least();
  /** behind is arrival time minus tick time of the newest tick. */
  behind = 0;
  /** jitter is the mean delay of snapshots beyond the fastest one. */
  jitter = 0;
  /** tick is the newest of a snapshot, 0 before the first. */
  tick = 0;
  /** interval is the mean server time between snapshots. */
  interval = 0;
  early = new Least();
  offset = 0;
  // the caller's time minus the server's, at updated
  updated = 0;
  wrong = 0;
  // error of offset, found at updated
  constructor(hz) {
    this.hz = hz;
  }
  timeOf(tick) {
    return tick * 1e3 / this.hz;
  }
  ticks(time) {
    return time * this.hz / 1e3;
  }
  offsetAt(now2) {
    const most = Math.max(now2 - this.updated, 0) / slewShare;
    return this.offset + Math.min(Math.max(this.wrong, -most), most);
  }
  /** server returns the server's time at now. */
  server(now2) {
    return now2 - this.offsetAt(now2);
  }
  /** serverTick returns the server's tick at now with fractions, 0 before the first snapshot. */
  serverTick(now2) {
    return this.tick === 0 ? 0 : Math.max(this.ticks(this.server(now2)), 0);
  }
  snapshot(now2, tick) {
    const behind = now2 - this.timeOf(tick);
    if (this.tick !== 0 && behind - this.early.least > lostAbove) this.early.reset();
    this.early.add(now2, behind);
    this.jitter += (behind - this.early.least - this.jitter) / jitterShare;
    this.offset = this.offsetAt(now2);
    this.updated = now2;
    this.wrong = this.early.least - this.trips.least / 2 - this.offset;
    if (this.tick === 0 || Math.abs(this.wrong) > stepAbove) {
      this.offset += this.wrong;
      this.wrong = 0;
    }
    if (tick <= this.tick) return;
    if (this.tick !== 0) this.interval += (this.timeOf(tick - this.tick) - this.interval) / intervalShare;
    this.behind = behind;
    this.tick = tick;
  }
};
var allowanceSamples = 128;
var allowanceShare = 50;
var Allowance = class {
  value = 0;
  count = 0;
  samples = new Float64Array(allowanceSamples);
  sorted = new Float64Array(allowanceSamples);
  updated = 0;
  add(now2, delay) {
    this.samples[this.count++ % allowanceSamples] = delay;
    const n = Math.min(this.count, allowanceSamples);
    this.sorted.fill(Infinity);
    for (let i = 0; i < n; i++) this.sorted[i] = this.samples[i];
    this.sorted.sort();
    const want = this.sorted[n - 1 - Math.floor(n / 50)];
    const passed = Math.max(now2 - this.updated, 0);
    this.updated = now2;
    this.value = this.count === 1 ? want : Math.max(want, this.value - passed / allowanceShare);
  }
};
var maxDelay = 500;
var slowShare = 4;
var fastShare = 10;
var Renderer = class {
  on = false;
  /** resumed says that no snapshot has arrived since the session resumed. */
  resumed = false;
  /** shown is the server time of the newest render. */
  shown = 0;
  delay = new Allowance();
  updated = 0;
  /** snapshot records the arrival of the first snapshot of a tick; the one before was the newest until then. */
  snapshot(now2, c, before2) {
    if (before2 !== 0 && !this.resumed) this.delay.add(now2, Math.min(c.server(now2) - c.timeOf(before2), maxDelay));
    this.resumed = false;
  }
  /** advance moves to now. */
  advance(now2, c) {
    const target = c.server(now2) - this.delay.value;
    const passed = Math.max(now2 - this.updated, 0);
    this.updated = now2;
    const ahead = this.shown + passed - target;
    if (!this.on) {
      this.on = true;
      this.shown = target;
    } else if (ahead < -maxDelay) this.shown = target;
    else if (ahead <= maxDelay) this.shown += passed - Math.min(Math.max(ahead, -passed / fastShare), passed / slowShare);
  }
};

// src/handles.ts
var none = 0n;
function newHandle(index, generation) {
  return BigInt(generation) << 32n | BigInt(index);
}
function indexOf(h) {
  return Number(h & 0xffffffffn);
}
function generationOf(h) {
  return Number(h >> 32n);
}
var provisionalGeneration = 2;
function isProvisional(h) {
  return h >> 32n === 2n;
}
var verdicts = ["pending", "live", "hidden", "stale", "provisional"];

// src/values.ts
var words2 = new Uint32Array(2);
var single3 = new Float32Array(words2.buffer);
var double2 = new Float64Array(words2.buffer);
var fullTurn = 2 * Math.PI;
function numberOf(f2, values, at) {
  const v = values[at];
  switch (f2.kind) {
    case "range":
      return f2.low + v * f2.step;
    case "int":
      return f2.n === 64 ? Number(bigintOf(f2, values, at)) : signed(v, f2.n);
    case "uint":
      return f2.n === 64 ? v + values[at + 1] * 2 ** 32 : v;
    case "angle":
      return signed(v, f2.n) / 2 ** f2.n * fullTurn;
    case "float":
      words2[0] = v;
      if (f2.n === 32) return single3[0];
      words2[1] = values[at + 1];
      return double2[0];
  }
  return v;
}
function signed(v, n) {
  return v << 32 - n >> 32 - n;
}
function bigintOf(f2, values, at) {
  const v = BigInt(values[at + 1]) << 32n | BigInt(values[at]);
  return f2.kind === "int" ? BigInt.asIntN(64, v) : v;
}
function quaternionOf(f2, value, q) {
  const N = 2 ** f2.n - 1;
  const largest = value & 3;
  let v = value >>> 2;
  let rest = 1;
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue;
    const x = (2 * (v & N) / N - 1) * Math.SQRT1_2;
    v >>>= f2.n;
    rest -= x * x;
    q[i] = x;
  }
  q[largest] = Math.sqrt(Math.max(rest, 0));
  return q;
}
function valueOf(f2, values, at) {
  switch (f2.kind) {
    case "bool":
      return values[at] !== 0;
    case "ref":
      return newHandle(values[at], values[at + 1]);
    case "quat":
      return quaternionOf(f2, values[at], [0, 0, 0, 1]);
  }
  return f2.n === 64 && f2.kind !== "float" ? bigintOf(f2, values, at) : numberOf(f2, values, at);
}
function quantise(f2, v, out, at) {
  out.fill(0, at, at + f2.values);
  if (v === void 0 || v === null) v = f2.kind === "range" ? 0 : void 0;
  if (v === void 0) return;
  if (f2.kind === "ref") quantiseHandle(v, out, at);
  else if (f2.kind === "quat") out[at] = smallestThree(f2, v);
  else if (f2.values === 2 && f2.kind !== "float") {
    const b = BigInt.asUintN(64, BigInt(v));
    out[at] = Number(b & 0xffffffffn);
    out[at + 1] = Number(b >> 32n);
  } else quantiseNumber(f2, Number(v), out, at);
}
function quantiseNumber(f2, v, out, at) {
  const clamp2 = (n, least, most) => n >= least ? Math.min(n, most) : least;
  switch (f2.kind) {
    case "bool":
      out[at] = v ? 1 : 0;
      break;
    case "range":
      out[at] = clamp2(Math.floor(((v === v ? v : 0) - f2.low) / f2.step + 0.5), 0, f2.largest);
      break;
    case "float":
      if (f2.n === 32) single3[0] = v;
      else double2[0] = v;
      out.set(f2.n === 32 ? words2.subarray(0, 1) : words2, at);
      break;
    case "angle": {
      const turn = v / fullTurn - Math.floor(v / fullTurn);
      out[at] = turn === turn ? Math.floor(turn * 2 ** f2.n + 0.5) % 2 ** f2.n : 0;
      break;
    }
    case "int":
      out[at] = (clamp2(Math.trunc(v), -(2 ** (f2.n - 1)), 2 ** (f2.n - 1) - 1) & 2 ** f2.n - 1) >>> 0;
      break;
    default:
      out[at] = clamp2(Math.trunc(v), 0, f2.largest);
  }
}
function quantiseHandle(h, out, at) {
  const index = indexOf(h);
  const generation = generationOf(h);
  const entity = generation % 2 === 1 && index < maxSlots;
  const provisional = generation % 2 === 0 && generation > 0;
  if (!entity && !provisional) return;
  out[at] = index;
  out[at + 1] = generation;
}
function smallestThree(f2, q) {
  let largest = 0;
  for (let i = 1; i < 4; i++) if (Math.abs(q[i]) > Math.abs(q[largest])) largest = i;
  if (!(Math.abs(q[largest]) > 0)) return smallestThree(f2, [0, 0, 0, 1]);
  const N = 2 ** f2.n - 1;
  const sign = q[largest] < 0 ? -1 : 1;
  let packed = largest;
  let place2 = 4;
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue;
    const n = Math.floor((q[i] * sign * Math.SQRT2 + 1) * N / 2 + 0.5);
    packed += Math.max(0, Math.min(n, N)) * place2;
    place2 *= N + 1;
  }
  return packed;
}
function blend(f2, a, from, to, ratio) {
  const near2 = ratio >= 1 ? to : from;
  if (ratio <= 0 || ratio >= 1 && !f2.linear) return numberOf(f2, a, near2);
  switch (f2.kind) {
    case "range": {
      const n = a[from] + (a[to] - a[from]) * ratio;
      return f2.low + Math.min(Math.max(n, 0), f2.largest) * f2.step;
    }
    case "angle": {
      const way = signed(a[to] - a[from], f2.n) / 2 ** f2.n;
      const v = a[from] / 2 ** f2.n + way * ratio;
      return (v - Math.floor(v + 0.5)) * fullTurn;
    }
    case "float": {
      const x = numberOf(f2, a, from);
      const v = x + (numberOf(f2, a, to) - x) * ratio;
      return Number.isFinite(v) ? v : x;
    }
  }
  return numberOf(f2, a, near2);
}
var q0 = [0, 0, 0, 1];
var q1 = [0, 0, 0, 1];
function blendQuaternion(f2, a, from, to, ratio, q) {
  if (ratio <= 0 || ratio >= 1 && !f2.linear) return quaternionOf(f2, a[ratio >= 1 ? to : from], q);
  quaternionOf(f2, a[from], q0);
  quaternionOf(f2, a[to], q1);
  const sign = q0[0] * q1[0] + q0[1] * q1[1] + q0[2] * q1[2] + q0[3] * q1[3] < 0 ? -1 : 1;
  let length2 = 0;
  for (let i = 0; i < 4; i++) {
    q[i] = q0[i] + (q1[i] * sign - q0[i]) * ratio;
    length2 += q[i] * q[i];
  }
  length2 = Math.sqrt(length2);
  for (let i = 0; i < 4; i++) q[i] /= length2;
  return q;
}
function partsOf(path) {
  return path.split(/[.[\]]+/).filter((s) => s !== "").map((s) => /^\d+$/.test(s) ? Number(s) : s);
}
var Shape = class {
  parts;
  textParts;
  fields;
  texts;
  constructor(fields, texts) {
    this.fields = fields;
    this.texts = texts;
    this.parts = fields.map((f2) => partsOf(f2.path));
    this.textParts = texts.map((f2) => partsOf(f2.path));
  }
  /** make returns a struct of what value and text give for each number of a field. */
  make(value, text2) {
    const root2 = /* @__PURE__ */ Object.create(null);
    this.parts.forEach((parts, i) => assign(root2, parts, value(i)));
    this.textParts.forEach((parts, i) => assign(root2, parts, text2(i)));
    return root2;
  }
  /** value returns field i of a struct. */
  value(root2, i) {
    return find(root2, this.parts[i]);
  }
  /** set sets field i of a struct, setText text field i. */
  set(root2, i, v) {
    assign(root2, this.parts[i], v);
  }
  setText(root2, i, v) {
    assign(root2, this.textParts[i], v);
  }
  /** restore returns the struct of a quantised message. */
  restore(p) {
    return this.make((i) => valueOf(this.fields[i], p.values, this.fields[i].index), (i) => p.texts[i]);
  }
  /** quantise returns the values and texts of a struct. Fields that it lacks are 0 or empty. */
  quantise(from, values) {
    const out = new Uint32Array(values);
    this.fields.forEach((f2, i) => quantise(f2, find(from, this.parts[i]), out, f2.index));
    const texts = this.texts.map((f2, i) => find(from, this.textParts[i]) ?? noText(f2));
    return { values: out, texts };
  }
};
function assign(root2, parts, v) {
  let at = root2;
  for (let i = 0; i < parts.length - 1; i++) {
    let next = Object.hasOwn(at, parts[i]) ? at[parts[i]] : void 0;
    if (typeof next !== "object") {
      next = typeof parts[i + 1] === "number" ? [] : /* @__PURE__ */ Object.create(null);
      Object.defineProperty(at, parts[i], { value: next, enumerable: true, configurable: true, writable: true });
    }
    at = next;
  }
  if (parts.length > 0) Object.defineProperty(at, parts[parts.length - 1], { value: v, enumerable: true, configurable: true, writable: true });
}
function find(root2, parts) {
  let at = root2;
  for (const part of parts) {
    if (at === void 0 || at === null) return void 0;
    at = at[part];
  }
  return at;
}

// src/entity.ts
var Layout = class {
  schema;
  shapes;
  /** body is the number of the component body, -1 without one. */
  body;
  components = /* @__PURE__ */ new Map();
  constructor(schema) {
    this.schema = schema;
    this.shapes = schema.components.map((c) => new Shape(c.fields, c.texts));
    for (const c of schema.components) this.components.set(c.name, c);
    this.body = this.components.get("body")?.index ?? -1;
  }
  component(name) {
    return this.components.get(name);
  }
};
var roomToMove = 4;
var Entity = class {
  handle;
  index;
  generation;
  layout;
  /** kind is the number of the entity's kind. */
  kind = 0;
  /** mask has a bit for each component that the entity has. */
  mask = 0;
  /** owned says that this client owns the entity and receives its owner fields. */
  owned = false;
  /** texts are all text fields by number; empty if they were not sent. */
  texts = [];
  /** tick is that of the current state. */
  tick = 0;
  /** @internal */
  entered = 0;
  // number of its Enter
  /** @internal */
  load = 0;
  /** @internal */
  place = 0;
  // in Replica.entities
  // One list: the ticks of all states, the ticks from which they are blended in, their values.
  list;
  room = 1;
  count = 1;
  newest = 0;
  // index of the current state
  named = 0;
  // highest tick named as older
  floor = 0;
  // named, one naming earlier
  from = 0;
  // indexes of the values that at found
  to = 0;
  ratio = 0;
  bodies;
  /** @internal */
  constructor(index, generation, layout, bodies) {
    this.handle = newHandle(index, generation);
    this.index = index;
    this.generation = generation;
    this.layout = layout;
    this.bodies = bodies;
  }
  /** kindName is the name of the kind; one that was added later has none. */
  get kindName() {
    return this.layout.schema.kinds[this.kind]?.name ?? `kind ${this.kind}`;
  }
  /** values is a copy of the current state's values, in the row layout of the schema. */
  get values() {
    const at = this.valuesAt(this.newest);
    return this.list.slice(at, at + this.layout.schema.values);
  }
  /** @internal copyValues copies values to out. */
  copyValues(out) {
    const at = this.valuesAt(this.newest);
    for (let i = 0; i < out.length; i++) out[i] = this.list[at + i];
  }
  /** has reports whether the entity has a component. */
  has(component) {
    const c = this.layout.component(component);
    return c !== void 0 && (this.mask >>> c.index & 1) === 1;
  }
  /** get returns the newest state of a component as a struct, undefined if the entity lacks it. It allocates. */
  get(component) {
    const s = this.computed(component, this.layout.body);
    return this.struct(component, (f2, at) => s ? coordinate(s, f2) : valueOf(f2, this.list, at + f2.index), this.newest);
  }
  /** at returns a component at a moment, as a struct: see numberAt. It allocates. */
  at(component, m) {
    this.find(m);
    const s = this.computedAt(component, this.layout.body, m);
    return this.struct(component, (f2) => {
      if (s) return coordinate(s, f2);
      if (f2.kind === "quat") return blendQuaternion(f2, this.list, this.from + f2.index, this.to + f2.index, this.ratio, [0, 0, 0, 1]);
      if (f2.kind === "bool" || f2.kind === "ref" || f2.n === 64 && f2.kind !== "float") return valueOf(f2, this.list, (this.ratio >= 1 ? this.to : this.from) + f2.index);
      return blend(f2, this.list, this.from + f2.index, this.to + f2.index, this.ratio);
    }, this.newest);
  }
  struct(component, value, state) {
    const c = this.layout.component(component);
    if (c === void 0 || (this.mask >>> c.index & 1) === 0) return void 0;
    const at = this.valuesAt(state);
    const first = this.layout.schema.texts.indexOf(c.texts[0]);
    return this.layout.shapes[c.index].make((i) => value(c.fields[i], at), (i) => this.texts[first + i]);
  }
  /** number returns the newest value of a field without allocating, 0 if the entity lacks it. */
  number(f2) {
    const s = this.computed("body", f2.component);
    if (s) return coordinate(s, f2);
    return numberOf(f2, this.list, this.valuesAt(this.newest) + f2.index);
  }
  /**
   * numberAt returns a field at a moment without allocating. Between two states ranges and
   * floats change linearly, angles along the shorter arc, and all else when its state is reached.
   * If snapshots stop, linear fields are extrapolated for a quarter second.
   */
  numberAt(f2, m) {
    const s = this.computedAt("body", f2.component, m);
    if (s) return coordinate(s, f2);
    this.find(m);
    return blend(f2, this.list, this.from + f2.index, this.to + f2.index, this.ratio);
  }
  /** vectorAt writes n fields from f on, at a moment, to out, from i on: a position is 3. */
  vectorAt(f2, n, m, out, i = 0) {
    const fields = this.layout.schema.components[f2.component].fields;
    const first = fields.indexOf(f2);
    const s = this.computedAt("body", f2.component, m);
    if (!s) this.find(m);
    for (let k = 0; k < n; k++) {
      const g = fields[first + k];
      out[i + k] = s ? coordinate(s, g) : blend(g, this.list, this.from + g.index, this.to + g.index, this.ratio);
    }
  }
  /** quaternionAt writes a quat at a moment to q, and returns it. */
  quaternionAt(f2, m, q) {
    this.find(m);
    return blendQuaternion(f2, this.list, this.from + f2.index, this.to + f2.index, this.ratio, q);
  }
  /** reference returns the handle in a ref field, in the newest state. */
  reference(f2) {
    const at = this.valuesAt(this.newest) + f2.index;
    return newHandle(this.list[at], this.list[at + 1]);
  }
  /** isComputed says that the client computes the entity's body. */
  get isComputed() {
    return this.bodies?.isComputed(this.index) ?? false;
  }
  /** computed returns the newest state of the entity's body, if the client computes it and that is the component. */
  computed(name, component) {
    const { bodies, layout } = this;
    if (!bodies || name !== "body" || component !== layout.body) return void 0;
    return bodies.exact(this.index, now) === 0 ? void 0 : now;
  }
  /** computedAt is computed at a moment. */
  computedAt(name, component, m) {
    const { bodies, layout } = this;
    if (!bodies || name !== "body" || component !== layout.body) return void 0;
    return bodies.at(this.index, m.tick, m.maxExtrapolate, now, before, after) ? now : void 0;
  }
  /** find sets from, to and ratio: the states to blend at a moment. */
  find(m) {
    let before2 = -1;
    let after2 = -1;
    const whole = Math.max(Math.floor(m.tick), 0);
    for (let i = 0; i < this.count; i++) {
      const t = this.list[i];
      if (t <= whole) {
        if (before2 < 0 || t > this.list[before2]) before2 = i;
      } else if (after2 < 0 || t < this.list[after2]) after2 = i;
    }
    this.ratio = 0;
    if (before2 < 0) before2 = after2;
    else if (after2 < 0) {
      after2 = before2;
      before2 = this.preceding(after2);
      const last = this.list[after2];
      if (before2 < 0 || last < m.newest || m.tick <= last) before2 = after2;
      else this.ratio = 1 + Math.min(m.tick - last, m.maxExtrapolate) / (last - this.list[before2]);
    } else {
      const first = Math.max(this.list[before2], this.list[this.room + after2]);
      this.ratio = Math.max(m.tick - first, 0) / (this.list[after2] - first);
    }
    this.from = this.valuesAt(before2);
    this.to = this.valuesAt(after2);
  }
  /** preceding returns the newest state before state i, or -1. */
  preceding(i) {
    let found = -1;
    for (let j = 0; j < this.count; j++) {
      if (this.list[j] < this.list[i] && (found < 0 || this.list[j] > this.list[found])) found = j;
    }
    return found;
  }
  /** @internal begin starts the entity's life in view with one state, whose list is 2 values longer. */
  begin(list, tick) {
    this.list = list;
    list[0] = tick;
    list[1] = 0;
    this.tick = tick;
    this.room = this.count = 1;
    this.newest = this.named = this.floor = 0;
  }
  /** @internal all is the list of states. */
  get all() {
    return this.list;
  }
  /** @internal bytes is the memory of the states. */
  get bytes() {
    return this.list.byteLength;
  }
  /** @internal growth is how many bytes the next add allocates at most. */
  get growth() {
    return this.count < this.room ? 0 : (this.larger - this.room) * 4 * (2 + this.layout.schema.values);
  }
  get larger() {
    return Math.min(Math.max(2 * this.room, roomToMove), maxStates);
  }
  /** @internal valuesAt returns where in all the values of state i begin. */
  valuesAt(i) {
    return 2 * this.room + i * this.layout.schema.values;
  }
  /** @internal state returns the index of the state of a tick, or -1. */
  state(tick) {
    for (let i = 0; i < this.count; i++) if (this.list[i] === tick) return i;
    return -1;
  }
  /** @internal noteBaseline notes that the server named the state of tick as the older of two. */
  noteBaseline(tick) {
    if (tick > this.named) {
      this.floor = this.named;
      this.named = tick;
    }
  }
  /**
   * @internal add stores a state, and returns whether it became the current one. States older
   * than the server's older baseline may be overwritten, unless one of the last span ticks.
   */
  add(tick, blendFrom, values, at, span) {
    if (tick < this.floor) return false;
    let oldest = 0;
    for (let i2 = 0; i2 < this.count; i2++) {
      const t = this.list[i2];
      if (t === tick) return false;
      if (t < this.list[oldest]) oldest = i2;
    }
    let i = oldest;
    if (this.list[oldest] >= this.floor || this.list[oldest] + span >= tick) {
      if (this.count < maxStates) {
        if (this.count === this.room) this.grow();
        i = this.count++;
      } else if (tick < this.list[oldest]) return false;
    }
    this.list[i] = tick;
    this.list[this.room + i] = blendFrom;
    const to = this.valuesAt(i);
    for (let k = 0, n = this.layout.schema.values; k < n; k++) this.list[to + k] = values[at + k];
    if (tick <= this.tick) return false;
    this.newest = i;
    this.tick = tick;
    return true;
  }
  grow() {
    const old = this.list;
    const from = this.room;
    const to = this.larger;
    const list = new Uint32Array(to * (2 + this.layout.schema.values));
    list.set(old.subarray(0, from));
    list.set(old.subarray(from, 2 * from), to);
    list.set(old.subarray(2 * from), 2 * to);
    this.list = list;
    this.room = to;
  }
};
var now = new State();
var before = new State();
var after = new State();
function coordinate(s, f2) {
  switch (f2.index - f2.offset) {
    case 0:
      return s.x;
    case 1:
      return s.y;
    case 2:
      return s.z;
    case 3:
      return s.vx;
    case 4:
      return s.vy;
  }
  return s.vz;
}

// src/state.ts
var typeState = 64;
var typeInput = 65;
var StateHeader = class {
  echo = 0;
  hold = 0;
  seq = 0;
  tick = 0;
  structure = 0;
  /** input is the tick of the newest input applied, 0 if there is none. */
  input = 0;
  fold = 0;
  events = noEvents;
  complete = false;
  audited = false;
  continued = false;
  /** exact tells that some rows have exact states. */
  exact = false;
  audit = 0;
  rows = 0;
  /** rest is where the bit string begins. */
  rest = 0;
  /** parse reads the header of a datagram. */
  parse(d) {
    if (d.length > maxDatagram) fail(`a datagram of ${d.length} bytes`);
    const r = new ByteReader(d);
    const type = r.u8();
    if (type !== typeState) fail(`a datagram of type ${type}`);
    this.echo = r.u32();
    this.hold = r.u16();
    this.seq = r.u32();
    this.tick = r.u32();
    this.structure = r.u32();
    const input = r.uvarint("input");
    const flags = r.u8();
    this.fold = r.u16();
    this.events = flags & 1 ? readEvents(r) : noEvents;
    this.complete = (flags & 2) !== 0;
    this.audited = (flags & 4) !== 0;
    this.continued = (flags & 8) !== 0;
    this.exact = (flags & 16) !== 0;
    this.audit = this.audited ? r.u32() : 0;
    this.rows = r.uvarint("rows", maxRows);
    this.rest = r.at;
    if (flags > 31 || this.audited && !this.complete || this.exact && this.rows === 0 || this.continued && this.seq === 1) fail(`a State datagram with the flags ${flags}`);
    if (input > this.tick + 1) fail(`an input of ${input - 1} ticks before tick ${this.tick}`);
    if (this.seq === 0 || this.tick === 0) fail("a State datagram of number 0 or tick 0");
    this.input = input === 0 ? 0 : this.tick + 1 - input;
  }
};
var noEvents = [];
function readEvents(r) {
  const n = r.uvarint("events", maxDatagram);
  if (n === 0) fail("no events where flags announce some");
  if (n > r.left) fail("events end early");
  const all = [];
  const events = new ByteReader(r.b, r.at, r.at + n);
  while (events.left > 0) {
    const number = events.uvarint("event", maxEventKinds - 1);
    const age = events.uvarint("age");
    all.push({ number, age, body: events.bytes(events.uvarint("event", maxArgs)) });
  }
  r.bytes(n);
  return all;
}
var Baseline = class {
  age = 0;
  gap = 0;
  read(r, tick) {
    this.age = r.golomb(4);
    this.gap = 0;
    if (this.age === 0) return;
    if (this.age >= tick) r.refuse(`a baseline of ${this.age} ticks before tick ${tick}`);
    this.gap = r.golomb(2);
    if (this.gap > 0 && this.gap >= tick - this.age) r.refuse(`a baseline of ${this.gap} ticks before tick ${tick - this.age}`);
  }
};
var Fold = class {
  x = 0;
  reset() {
    this.x = 0;
  }
  add(index, generation) {
    let x = Math.imul(this.x ^ index, 2654435761);
    x = Math.imul(x ^ x >>> 15 ^ generation, 2246822519);
    this.x = x ^ x >>> 13;
  }
  get value() {
    return (this.x ^ this.x >>> 16) & 65535;
  }
};
var Acks = class {
  newest = 0;
  /** Bit i of low and high, 32 bits each: newest − 1 − i. */
  low = 0;
  high = 0;
  /** duplicate reports whether seq was applied, or is too old to tell. */
  duplicate(seq) {
    if (seq > this.newest) return false;
    const i = this.newest - seq - 1;
    if (i < 0 || i > 63) return true;
    return ((i < 32 ? this.low : this.high) >>> (i & 31) & 1) !== 0;
  }
  /** run returns how many snapshots before the newest were applied without a gap. */
  get run() {
    const ones = (mask) => mask === 4294967295 ? 32 : 31 - Math.clz32(~mask & -~mask);
    return this.low === 4294967295 ? 32 + ones(this.high) : ones(this.low);
  }
  add(seq) {
    if (seq < this.newest) {
      const i = this.newest - seq - 1;
      if (i < 32) this.low = (this.low | 1 << i) >>> 0;
      else this.high = (this.high | 1 << i - 32) >>> 0;
      return;
    }
    const d = this.newest === 0 ? 65 : seq - this.newest;
    this.newest = seq;
    if (d > 64) {
      this.low = this.high = 0;
      return;
    }
    for (let i = 0; i < d; i++) {
      this.high = (this.high << 1 | this.low >>> 31) >>> 0;
      this.low = this.low << 1 >>> 0;
    }
    if (d <= 32) this.low = (this.low | 1 << d - 1) >>> 0;
    else this.high = (this.high | 1 << d - 33) >>> 0;
  }
  equals(a) {
    return this.newest === a.newest && this.low === a.low && this.high === a.high;
  }
  copy(a) {
    this.newest = a.newest;
    this.low = a.low;
    this.high = a.high;
  }
};
function encodeInput(w, stamp, acks, structure2, inputs, from, n) {
  w.reset();
  w.u8(typeInput);
  w.u32(stamp);
  w.u8(acks.newest === 0 ? 0 : 1);
  w.u32(acks.newest);
  w.u32(acks.low);
  w.u32(acks.high);
  w.u32(structure2);
  w.uvarint(n);
  for (let i = from; i < from + n; i++) {
    const t = inputs[i];
    w.u32(t.tick);
    w.uvarint(t.back);
    if (t.back > 0) w.u8(t.fraction);
    w.uvarint(t.data.length);
    w.bytes(t.data);
  }
}

// src/inputs.ts
var echoedDatagrams = 32;
var maxLead = 1e3;
var maxAhead = 28;
var maxUnsent = maxInputs / 2;
var inputSoon = 50;
var minRepeated = 4;
var maxInterval = 250;
var handshakeTimeout = 5e3;
var viewTick = 256;
function stampAt(now2) {
  return (Math.floor(now2 * 10) % 2 ** 32 | 1) >>> 0;
}
var Trip = class {
  known = false;
  mean = 0;
  deviation = 0;
  add(trip) {
    if (!this.known) {
      this.known = true;
      this.mean = trip;
      this.deviation = Math.abs(trip) / 2;
      return;
    }
    this.deviation += (Math.abs(trip - this.mean) - this.deviation) / 4;
    this.mean += (trip - this.mean) / 8;
  }
  get least() {
    return this.mean - 8 * this.deviation;
  }
  get most() {
    return this.mean + 4 * this.deviation;
  }
};
var Inputs = class {
  lead = new Allowance();
  snapshotHz;
  clock;
  renderer;
  list = [];
  // newest first
  unsent = 0;
  set = 0;
  // when the newest was set
  early = false;
  // the newest, unsent, was set for a tick above its target
  before = [0, 0];
  // new inputs in the last datagrams
  timed = false;
  made = 0;
  // server time when the oldest unsent input was made
  sent = [];
  next = 0;
  trip = new Trip();
  ahead = new Least();
  acked = new Acks();
  // by the newest datagram
  sentAt = -Infinity;
  w = new ByteWriter();
  constructor(clock, renderer, snapshotHz) {
    this.clock = clock;
    this.renderer = renderer;
    this.snapshotHz = snapshotHz;
  }
  /** targetTick returns the tick for an input made at now, 0 if the server's time is unknown. */
  targetTick(now2) {
    return this.clock.tick === 0 ? 0 : Math.min(Math.floor(this.inputTick(now2)) + 1, 2 ** 32 - 1);
  }
  /** inputTick returns how far the tick for an input made at now has come. */
  inputTick(now2) {
    const c = this.clock;
    if (c.tick === 0) return 0;
    const lead = this.lead.count === 0 ? c.trips.least / 2 + 2e3 / this.snapshotHz : this.lead.value;
    const aimed = Math.min(c.server(now2) + Math.min(lead, maxLead), this.earliestArrival(now2) + c.timeOf(maxAhead));
    return Math.max(c.ticks(aimed) + 0.5, 0);
  }
  /** earliestArrival returns a server time before which an input sent at now should not arrive. */
  earliestArrival(now2) {
    const c = this.clock;
    if (!this.trip.known) return c.server(now2);
    return Math.min(Math.max(c.server(now2) + this.trip.least, now2 - c.behind), now2 + this.ahead.least);
  }
  /** push sets what the player holds down from now on, and returns the tick that it is for: after applied, the newest that the server has applied. */
  push(data, now2, applied) {
    let tick = this.targetTick(now2);
    if (tick > 0) tick = Math.max(tick, applied + 1);
    this.set = now2;
    const newest = this.list[0];
    if (newest) {
      if (tick > 0 && newest.tick - tick > this.clock.ticks(stepAbove)) {
        this.list.length = this.unsent = 0;
        this.early = false;
      } else if (this.unsent > 0 && tick > 0 && tick <= newest.tick) {
        newest.data = data;
        this.view(newest);
        return newest.tick;
      } else if (tick <= newest.tick) {
        this.early = tick > 0;
        tick = newest.tick + 1;
      } else {
        if (this.early && this.unsent === 1) this.made = this.clock.server(now2);
        this.early = false;
      }
    }
    if (this.unsent === 0) {
      this.made = this.clock.server(now2);
      this.timed = this.clock.tick !== 0;
    }
    this.unsent = Math.min(this.unsent + 1, maxInputs);
    const t = { tick: Math.max(tick, 1), back: 0, fraction: 0, data };
    this.view(t);
    this.list.unshift(t);
    if (this.list.length > maxInputs) this.list.pop();
    return t.tick;
  }
  /** shownTick returns the moment of the newest render in ticks, in whole 1/256. */
  get shownTick() {
    return Math.floor(Math.max(this.clock.ticks(this.renderer.shown), 0) * viewTick) / viewTick;
  }
  /** view sets the view moment of an input. */
  view(t) {
    const whole = Math.floor(this.shownTick);
    const back = t.tick - whole;
    const known = this.renderer.on && back >= 1 && back <= maxView;
    t.back = known ? back : 0;
    t.fraction = known ? (this.shownTick - whole) * viewTick : 0;
  }
  /** commandView returns the view moment of a command, in 1/256 ticks. */
  get commandView() {
    return this.renderer.on ? Math.min(this.shownTick, 2 ** 32 - 1) * viewTick : 0;
  }
  /** datagram returns the Input datagram to send at now, valid until the next. */
  datagram(now2, acks, structure2) {
    this.sentAt = now2;
    const stamp = stampAt(now2);
    let from = 0;
    let fresh = this.unsent;
    if (this.early) {
      if (this.targetTick(now2) < this.list[0].tick) {
        from = 1;
        fresh--;
      } else if (fresh === 1) this.made = this.clock.server(now2);
    }
    const repeated = Math.max(fresh + this.before[0] + this.before[1], minRepeated);
    if (fresh > 0) {
      if (this.timed) {
        this.sent[this.next % echoedDatagrams] = { stamp, number: this.next, made: this.made, at: this.clock.server(now2), sent: now2, missing: false };
        this.next++;
      }
      this.before = [fresh, this.before[0]];
    }
    this.unsent -= fresh;
    this.early = this.unsent > 0;
    this.acked.copy(acks);
    encodeInput(this.w, stamp, acks, structure2, this.list, from, Math.min(repeated, this.list.length - from));
    return this.w.view();
  }
  /**
   * due reports whether to send a datagram after that many arrived. A new input is sent at
   * once, but one per tick; otherwise one datagram answers everything that arrived.
   */
  due(datagrams, now2, acks, waiting, streaming) {
    const age = now2 - this.sentAt;
    if (age >= this.patience || this.unsent >= maxUnsent || this.unsent > 0 && this.targetTick(now2) >= this.list[0].tick) return true;
    const unacked = !acks.equals(this.acked);
    if (unacked && streaming) return true;
    if (this.list.length > 0 && now2 - this.set < inputSoon && age < inputSoon) return false;
    return unacked || datagrams > 0 && waiting === 0;
  }
  /** patience is how long to wait for a snapshot before a datagram is sent without one. */
  get patience() {
    if (this.snapshotHz === 0) return handshakeTimeout;
    const interval = 1e3 / this.snapshotHz;
    return 2 * (this.unsent === 0 ? Math.max(interval, Math.min(this.clock.interval, maxInterval)) : interval);
  }
  /** reconnected forgets what was measured of the connection before. */
  reconnected() {
    this.timed = false;
    for (const d of this.sent) d.stamp = 0;
    this.sentAt = -Infinity;
  }
  /** echoed learns from a snapshot sent at sent, which echoes stamp, that arrived at arrived. Times are the server's. */
  echoed(now2, stamp, arrived, sent) {
    const most = this.trip.most;
    const newest = this.sent.find((d) => d.stamp === stamp)?.number ?? Infinity;
    for (const d of this.sent) {
      if (d.stamp === 0) continue;
      if (d.number === newest) {
        this.trip.add(arrived - d.at);
        this.ahead.add(now2, arrived - d.sent);
        this.lead.add(now2, arrived - d.made);
        d.stamp = 0;
      } else if ((stamp - d.stamp | 0) > 0) {
        if (d.missing && newest - d.number <= this.before.length) this.lead.add(now2, arrived - d.made);
        d.stamp = 0;
      } else d.missing ||= this.trip.known && sent - d.at > most;
    }
  }
};

// src/messages.ts
var messages_exports = {};
__export(messages_exports, {
  FrameReader: () => FrameReader,
  Type: () => Type,
  appendFrame: () => appendFrame,
  encodeBye: () => encodeBye,
  encodeCommand: () => encodeCommand,
  encodeHello: () => encodeHello,
  parseControl: () => parseControl,
  parseEnd: () => parseEnd,
  parseResult: () => parseResult,
  parseWelcome: () => parseWelcome
});

// src/msgpack.ts
var utf83 = new TextEncoder();
var MsgpackReader = class extends ByteReader {
  big(n) {
    let v = 0;
    for (let i = 0; i < n; i++) v = v * 256 + this.u8();
    return v;
  }
  big64() {
    const high = this.big(4);
    return BigInt(high) << 32n | BigInt(this.big(4));
  }
  /** array reads the head of an array of n elements, or of n or more. */
  array(n, orMore = false) {
    const c = this.u8();
    let length2 = -1;
    if (c >> 4 === 9) length2 = c & 15;
    else if (c === 220) length2 = this.big(2);
    else if (c === 221) length2 = this.big(4);
    if (length2 < n || length2 > n && !orMore) fail(`a message has ${length2} elements, want ${n}`);
    return length2;
  }
  /** uint reads an unsigned number of any form, at most max < 2^53. */
  uint(what, max2) {
    const v = this.u64(what);
    if (v > BigInt(max2)) fail(`${what} is ${v}, at most ${max2}`);
    return Number(v);
  }
  /** u64 reads an unsigned number of any form. */
  u64(what) {
    const c = this.u8();
    if (c <= 127) return BigInt(c);
    if (c >= 204 && c <= 206) return BigInt(this.big(1 << c - 204));
    if (c !== 207) fail(`${what} is not an unsigned number`);
    return this.big64();
  }
  /** handle reads the 9 bytes of a handle. */
  handle(what) {
    if (this.u8() !== 207) fail(`${what} is not a handle`);
    return this.big64();
  }
  /** str reads UTF-8 of min to max bytes. */
  str(what, max2, min2 = 0) {
    const c = this.u8();
    let n = -1;
    if (c >> 5 === 5) n = c & 31;
    else if (c >= 217 && c <= 219) n = this.big(1 << c - 217);
    if (n < min2 || n > max2) fail(`${what}: want a str of ${min2} to ${max2} bytes`);
    return decodeText(this.bytes(n));
  }
  /** bin reads at most max bytes, and returns a copy. */
  bin(what, max2) {
    const c = this.u8();
    const n = c >= 196 && c <= 198 ? this.big(1 << c - 196) : -1;
    if (n < 0 || n > max2) fail(`${what}: want a bin of at most ${max2} bytes`);
    return this.bytes(n).slice();
  }
  /**
   * value skips one value of any type but extensions. Arrays and maps that are not empty may
   * contain each other depth times.
   */
  value(depth = maxNesting) {
    const c = this.u8();
    let n = 0;
    if (c <= 127 || c >= 224 || c === 192 || c === 194 || c === 195) return;
    else if (c <= 143) n = 2 * (c & 15);
    else if (c <= 159) n = c & 15;
    else if (c <= 191) return void this.bytes(c & 31);
    else if (c >= 196 && c <= 198) return void this.bytes(this.big(1 << c - 196));
    else if (c === 202 || c === 203) return void this.bytes(c === 202 ? 4 : 8);
    else if (c >= 204 && c <= 211) return void this.bytes(1 << (c - 204 & 3));
    else if (c >= 217 && c <= 219) return void this.bytes(this.big(1 << c - 217));
    else if (c >= 220) n = this.big(c & 1 ? 4 : 2) * (c >= 222 ? 2 : 1);
    else fail(`msgpack of type ${c.toString(16)}`);
    if (n > 0 && depth === 0) fail(`more than ${maxNesting} arrays and maps contain each other`);
    for (; n > 0; n--) this.value(depth - 1);
  }
};
var MsgpackWriter = class extends ByteWriter {
  big(v, n) {
    for (let i = n - 1; i >= 0; i--) this.u8(Math.floor(v / 256 ** i) & 255);
  }
  array(n) {
    if (n < 16) this.u8(144 | n);
    else {
      this.u8(220);
      this.big(n, 2);
    }
  }
  uint(v) {
    if (v < 128) this.u8(v);
    else if (v < 2 ** 32) {
      const size = v < 256 ? 0 : v < 65536 ? 1 : 2;
      this.u8(204 + size);
      this.big(v, 1 << size);
    } else this.u64(BigInt(v));
  }
  u64(v) {
    this.u8(207);
    this.big(Number(v >> 32n), 4);
    this.big(Number(v & 0xffffffffn), 4);
  }
  str(s) {
    const b = utf83.encode(s);
    if (b.length < 32) this.u8(160 | b.length);
    else this.length(217, b.length);
    this.bytes(b);
  }
  bin(b) {
    this.length(196, b.length);
    this.bytes(b);
  }
  length(first, n) {
    const size = n < 256 ? 0 : n < 65536 ? 1 : 2;
    this.u8(first + size);
    this.big(n, 1 << size);
  }
  /** value writes any value of a raw command's arguments. */
  value(v) {
    if (v === null || v === void 0) this.u8(192);
    else if (typeof v === "boolean") this.u8(v ? 195 : 194);
    else if (typeof v === "number") this.number(v);
    else if (typeof v === "bigint") this.u64(BigInt.asUintN(64, v));
    else if (typeof v === "string") this.str(v);
    else if (v instanceof Uint8Array) this.bin(v);
    else if (Array.isArray(v)) {
      this.array(v.length);
      for (const x of v) this.value(x);
    } else if (typeof v === "object") {
      const all = Object.entries(v);
      this.u8(222);
      this.big(all.length, 2);
      for (const [key, x] of all) {
        this.str(key);
        this.value(x);
      }
    } else throw new TypeError(`cannot encode a ${typeof v}`);
  }
  number(v) {
    if (Number.isSafeInteger(v) && !Object.is(v, -0)) {
      if (v >= 0) this.uint(v);
      else {
        this.u8(211);
        this.big(Number(BigInt.asUintN(64, BigInt(v)) >> 32n), 4);
        this.big(v >>> 0, 4);
      }
      return;
    }
    const b = new DataView(new ArrayBuffer(8));
    b.setFloat64(0, v);
    this.u8(203);
    this.bytes(new Uint8Array(b.buffer));
  }
};

// src/messages.ts
var Type = {
  pad: 0,
  hello: 1,
  command: 2,
  bye: 3,
  resync: 4,
  arrived: 5,
  welcome: 16,
  refused: 17,
  structure: 18,
  result: 19,
  control: 20,
  goodbye: 21
};
var u16 = 65535;
var u32 = 4294967295;
function encodeHello(m) {
  const w = new MsgpackWriter();
  w.array(11);
  w.uint(version);
  w.u64(m.schema);
  w.uint(m.tables);
  w.u64(m.epoch);
  w.u64(m.session);
  w.bin(m.secret);
  w.uint(m.structure);
  w.bin(m.token);
  w.str(m.name);
  w.str(m.room);
  w.uint(m.abilities);
  return w.take();
}
function encodeCommand(m) {
  const w = new MsgpackWriter();
  w.array(7);
  w.uint(m.id);
  w.str(m.name);
  w.u64(m.target);
  w.bin(m.args);
  w.uint(m.provisional);
  w.uint(m.wishes);
  w.uint(m.view);
  return w.take();
}
function encodeBye(code, text2 = "") {
  const w = new MsgpackWriter();
  w.array(2);
  w.uint(code);
  w.str(text2);
  return w.take();
}
function parseWelcome(b) {
  const r = new MsgpackReader(b);
  r.array(18);
  const m = {
    protocol: r.uint("protocol", u16),
    schema: r.u64("schema"),
    tables: r.uint("tables", u32),
    epoch: r.u64("epoch"),
    generationFloor: r.uint("generation_floor", u32),
    generationCeiling: r.uint("generation_ceiling", u32),
    tickHz: r.uint("tick_hz", u16),
    snapshotHz: r.uint("snapshot_hz", u16),
    maxSlots: r.uint("max_slots", u32),
    session: r.u64("session"),
    tick: r.uint("tick", u32),
    resumed: r.uint("resumed", 1) === 1,
    secret: r.bin("secret", 16),
    room: r.str("room", maxRoom),
    simulate: r.uint("simulate", 1) === 1,
    commands: r.uint("commands", u32),
    structure: r.uint("structure", u32),
    schemaText: r.str("schema_text", maxSchemaText)
  };
  r.expectEnd();
  if (m.secret.length !== 0 && m.secret.length !== 16) fail(`a secret of ${m.secret.length} bytes`);
  if (m.snapshotHz < 1 || m.snapshotHz > m.tickHz) fail(`${m.snapshotHz} snapshots in ${m.tickHz} ticks a second`);
  if (m.generationCeiling < m.generationFloor) fail(`generations ${m.generationFloor} to ${m.generationCeiling}`);
  return m;
}
function parseEnd(type, b) {
  const r = new MsgpackReader(b);
  const refused = type === Type.refused;
  const known = refused ? 5 : 4;
  const n = r.array(known, refused);
  const code = r.uint("code", u16);
  const text2 = r.str("text", maxText);
  if (refused) r.str("want", maxText);
  const address = r.str("address", maxText);
  const token = r.bin("token", maxToken);
  for (let i = known; i < n; i++) r.value(maxNesting - 1);
  r.expectEnd();
  const moved = code === Code.moved;
  if (moved ? address === "" : address !== "" || token.length > 0) fail("only moved has an address, and always");
  return new WireError(code, text2, address, token);
}
function parseResult(b) {
  const r = new MsgpackReader(b);
  r.array(6);
  const m = {
    id: r.uint("id", u32),
    code: r.uint("code", u16),
    target: r.handle("target"),
    verdict: r.uint("verdict", 3),
    text: r.str("text", maxText),
    answer: r.bin("answer", maxArgs)
  };
  r.expectEnd();
  if (m.code !== Code.ok && m.answer.length > 0) fail(`an answer with code ${m.code}`);
  return m;
}
function parseControl(b) {
  const r = new MsgpackReader(b);
  r.array(1);
  const entity = r.handle("entity");
  r.expectEnd();
  return entity;
}
function appendFrame(w, type, body) {
  w.uvarint(body.length + 1);
  w.u8(type);
  w.bytes(body);
}
var FrameReader = class {
  b = new Uint8Array(1024);
  from = 0;
  to = 0;
  /** type of the frame that next returned. */
  type = 0;
  feed(p) {
    if (this.from === this.to) this.from = this.to = 0;
    if (this.to + p.length > this.b.length) {
      const left = this.to - this.from;
      const b = left + p.length > this.b.length ? new Uint8Array(Math.max(2 * this.b.length, left + p.length)) : this.b;
      b.set(this.b.subarray(this.from, this.to));
      this.b = b;
      this.from = 0;
      this.to = left;
    }
    this.b.set(p, this.to);
    this.to += p.length;
  }
  /** size is the memory of the buffer. */
  get size() {
    return this.b.length;
  }
  /** next returns the body of the next whole frame, valid until the next feed, or undefined. */
  next() {
    let length2 = 0;
    let at = this.from;
    for (let shift = 0; ; shift += 7) {
      if (at === this.to) return void 0;
      const c = this.b[at++];
      length2 += (c & 127) * 2 ** shift;
      if (c < 128) {
        if (c === 0 && shift > 0) fail("the length of a frame is not in its shortest form");
        break;
      }
      if (shift === 14) fail("a frame is too long");
    }
    if (length2 < 1 || length2 > maxFrame) fail(`a frame of ${length2} bytes`);
    if (this.to - at < length2) return void 0;
    this.type = this.b[at];
    this.from = at + length2;
    return this.b.subarray(at + 1, this.from);
  }
};

// src/cells.ts
var live = 1;
var hidden = 2;
var stale = 3;
var pageSize = 32;
var Cell = class {
  generation = 0;
  state = 0;
  entity;
};
var bytesOfCell = 40;
var bytesOfPointer = 8;
var Cells = class {
  pages = [];
  made = 0;
  get bytes() {
    return this.pages.length * bytesOfPointer + this.made * pageSize * bytesOfCell;
  }
  /** growth is how many bytes at will allocate. */
  growth(slot2) {
    const page = slot2 / pageSize | 0;
    const more = Math.max(page + 1 - this.pages.length, 0);
    return more * bytesOfPointer + (this.pages[page] ? 0 : pageSize * bytesOfCell);
  }
  /** at returns the cell of a slot, allocating its page. */
  at(slot2) {
    const page = slot2 / pageSize | 0;
    while (this.pages.length <= page) this.pages.push(void 0);
    let cells = this.pages[page];
    if (!cells) {
      cells = this.pages[page] = Array.from({ length: pageSize }, () => new Cell());
      this.made++;
    }
    return cells[slot2 % pageSize];
  }
  /** peek returns the cell of a slot, undefined if its page is not allocated. */
  peek(slot2) {
    return this.pages[slot2 / pageSize | 0]?.[slot2 % pageSize];
  }
  /** known yields the slots heard of, ascending, with their cells. */
  *known() {
    for (let i = 0; i < this.pages.length && i * pageSize < maxSlots; i++) {
      const page = this.pages[i];
      for (let j = 0; page && j < pageSize; j++) if (page[j].generation !== 0) yield [i * pageSize + j, page[j]];
    }
  }
};

// src/tables.ts
var magic = "worldd tables 4\n";
var maxCodeBits = 12;
var residualSymbols = 43;
var lanes = 8;
var scales = 32;
var contexts = 48;
var Code2 = class {
  lengths;
  entries;
  // by the next bits: symbol · 16 + length
  mask = 0;
  constructor(lengths) {
    this.lengths = lengths;
  }
  /** entry returns symbol · 16 + length of the code that the bits begin with, first bit lowest. */
  entry(bits4) {
    const entries = this.entries ?? this.build();
    return entries[bits4 & this.mask];
  }
  /** build makes the entries at the first use: most codes of a file are never used. */
  build() {
    const longest2 = this.lengths.reduce((a, b) => Math.max(a, b));
    const entries = new Uint16Array(1 << longest2);
    let code = 0;
    for (let n = 1; n <= longest2; n++, code <<= 1) {
      for (let symbol = 0; symbol < this.lengths.length; symbol++) {
        if (this.lengths[symbol] !== n) continue;
        for (let i = reverse(code, n); i < entries.length; i += 1 << n) entries[i] = symbol * 16 + n;
        code++;
      }
    }
    this.mask = entries.length - 1;
    return this.entries = entries;
  }
};
function reverse(v, n) {
  let r = 0;
  for (let i = 0; i < n; i++) r |= (v >> i & 1) << n - 1 - i;
  return r;
}
var Tables = class {
  /** version is FNV-1a of the file, 32 bits. */
  version;
  sets = [];
  ofShape = /* @__PURE__ */ new Map();
  zones = /* @__PURE__ */ new Map();
  heads = /* @__PURE__ */ new Map();
  /** The file is one of the server's worldd train, or defaultTables'. */
  constructor(file) {
    this.version = versionOf(file);
    for (let i = 0; i < magic.length; i++) if (file[i] !== magic.charCodeAt(i)) fail("not a file of tables of this version");
    const r = new ByteReader(file, magic.length);
    const sets = r.uvarint("sets", 64);
    if (sets === 0) fail("tables without a set");
    for (let i = 0; i < sets; i++) this.readSet(r);
    for (let n = r.uvarint("zone bounds", 256); n > 0; n--) {
      const shape = readShape(r);
      const bounds = { axis: r.u8(), first: r.uvarint("bound"), second: r.uvarint("bound") };
      if (bounds.axis > 2) fail(`zone bounds along axis ${bounds.axis}`);
      if (!this.zones.has(shape)) this.zones.set(shape, bounds);
    }
    for (let n = r.uvarint("heads", 256); n > 0; n--) this.readHead(r);
    r.expectEnd();
  }
  readSet(r) {
    const shapes = [];
    for (let n = r.uvarint("shapes", 64); n > 0; n--) shapes.push(readShape(r));
    const set = { weights: readWeights(r, 4 * 4 * 5 * 15), scales: readWeights(r, lanes * 4 * 5 * 12), residuals: [] };
    for (let i = 0; i < lanes * scales; i++) set.residuals.push(readCode(r, residualSymbols));
    this.sets.push(set);
    for (const shape of shapes) if (!this.ofShape.has(shape)) this.ofShape.set(shape, set);
  }
  readHead(r) {
    const shape = readShape(r);
    const group = r.u8();
    const symbols = r.u8();
    if (symbols < 2 || symbols > 128) fail(`a head of ${symbols} symbols`);
    const codes2 = Array.from({ length: contexts }, () => readCode(r, symbols));
    const key = `${group} ${symbols} ${shape}`;
    if (!this.heads.has(key)) this.heads.set(key, codes2);
  }
  /** setOf returns the set that codes a shape. */
  setOf(shape) {
    return this.ofShape.get(shape) ?? this.sets[0];
  }
  zonesOf(shape) {
    return this.zones.get(shape);
  }
  /** headsOf returns the codes of a group by context. */
  headsOf(shape, group, symbols) {
    const codes2 = this.heads.get(`${group} ${symbols} ${shape}`);
    if (codes2) return codes2;
    const common = commonHead(symbols);
    return Array.from({ length: contexts }, () => common);
  }
};
function commonHead(symbols) {
  const u = symbols - 1;
  const log = 31 - Math.clz32(u);
  const lengths = new Uint8Array(symbols).fill(1 + log, 1);
  lengths[0] = 1;
  lengths.fill(2 + log, symbols - 2 * (u - 2 ** log));
  return new Code2(lengths);
}
function readShape(r) {
  return String.fromCharCode(...r.bytes(r.u8()));
}
function readWeights(r, n) {
  const weights = new Int16Array(n);
  for (let i = 0; i < n; i++) {
    const v = r.uvarint("weight", 8192);
    weights[i] = v & 1 ? -(v >> 1) - 1 : v >> 1;
    if (Math.abs(weights[i]) > 4096) fail(`a weight of ${weights[i]}`);
  }
  return weights;
}
function readCode(r, symbols) {
  const lengths = r.bytes(symbols);
  let room = 1 << maxCodeBits;
  for (const n of lengths) {
    if (n < 1 || n > maxCodeBits) fail(`a code of ${n} bits`);
    room -= 1 << maxCodeBits - n;
  }
  if (room !== 0) fail("the lengths of a code are not complete");
  return new Code2(lengths);
}
function versionOf(b) {
  let h = 2166136261;
  for (const c of b) h = Math.imul(h ^ c, 16777619);
  return h >>> 0;
}
var defaults;
function defaultTables() {
  return defaults ??= unpack().then(
    (file) => new Tables(file),
    (e) => {
      defaults = void 0;
      throw e;
    }
  );
}
async function unpack() {
  const { packedTables: packedTables2 } = await Promise.resolve().then(() => (init_tables_data(), tables_data_exports));
  const packed = Uint8Array.from(atob(packedTables2), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// src/rows.ts
var maxDoubleN = 2 ** 21;
var escape = 42;
var maxRatio = 32 * 2 ** 16;
var Past = class {
  age = 0;
  gap = 0;
  values;
  // of base and older
  base = 0;
  older = -1;
  // -1: none
  /** anchor is the component that the anchor is for, -1 without one. */
  anchor = -1;
  anchorNow;
  now = 0;
  anchorPast;
  anchorBase = 0;
  anchorOlder = -1;
  /** ratio is r of section 3. */
  ratio() {
    return this.older < 0 ? 0 : Math.min(Math.floor(this.age * 2 ** 16 / this.gap), maxRatio);
  }
};
var Unit = class {
  letter;
  field;
  index;
  // of the first value
  fields;
  radix;
  n;
  largest;
  ring;
  linear;
  clamps;
  // predictions, in place of a ring
  constructor(letter, f2, fields, radix) {
    this.letter = letter.toLowerCase();
    this.field = f2;
    this.index = f2.index;
    this.fields = fields;
    this.radix = radix;
    this.n = f2.n;
    this.largest = f2.kind === "quat" ? 2 ** f2.n - 1 : f2.largest;
    this.ring = this.largest + 1;
    this.linear = f2.linear;
    this.clamps = f2.kind === "range";
  }
};
var Part = class {
  component;
  units;
  groups;
  position;
  rotation;
  flag;
  // index of its value, -1: none
  set;
  zones;
  wide;
  /** fields are all that the receiver gets. */
  fields;
  constructor(c, owned, tables) {
    const units = unitsOf(c, owned);
    const shape = units.map((u) => u.letter).join("");
    this.component = c.index;
    this.units = units.map((u) => new Unit(u.letter, c.fields[u.at], u.fields, u.radix));
    let first = 0;
    this.groups = groupsOf(units.map((u) => u.radix)).map((last, g) => {
      const symbols = this.units.slice(first, last).reduce((product2, u) => product2 * u.radix, 1);
      const group = { first, last, heads: tables.headsOf(shape, g, symbols) };
      first = last;
      return group;
    });
    this.position = this.units.find((u) => u.letter === "p");
    this.rotation = this.units.find((u) => u.letter === "q");
    this.flag = this.units.find((u) => u.letter === "b")?.index ?? -1;
    this.set = tables.setOf(shape);
    this.zones = this.position && tables.zonesOf(shape);
    this.wide = c.parent !== "" && this.position !== void 0 && this.position.largest > maxDoubleN;
    this.fields = c.fields.filter((f2) => owned || !f2.owner);
  }
};
var Codec = class {
  schema;
  /** received is by component. */
  received;
  parts;
  // of others, of owners
  digits = new Uint8Array(64);
  // The component being read.
  r;
  past;
  ratio = 0;
  set;
  zone = 3;
  attached = 3;
  speed = 0;
  moves = 0;
  margin = 3;
  largest = 0;
  // component of facing
  missed = 0;
  missedTurn = 0;
  feature = new Int32Array(12);
  own = new Float64Array(3);
  followed = new Float64Array(3);
  mismatch = new Float64Array(3);
  expected = new Float64Array(3);
  facing = new Float64Array(4);
  onward = new Float64Array(4);
  before = new Float64Array(4);
  // Scratch for rotations and vectors.
  q0 = new Float64Array(4);
  q1 = new Float64Array(4);
  q2 = new Float64Array(4);
  q3 = new Float64Array(4);
  turn = new Float64Array(4);
  ride = new Float64Array(4);
  twist = new Float64Array(4);
  v0 = new Float64Array(3);
  v1 = new Float64Array(3);
  constructor(schema, tables) {
    this.schema = schema;
    this.received = schema.components.map(() => ({ rows: 0, bits: 0 }));
    this.parts = [schema.components.map((c) => new Part(c, false, tables)), schema.components.map((c) => new Part(c, true, tables))];
  }
  /** readMask reads the mask of a full row. */
  readMask(r) {
    return r.long(this.schema.components.length);
  }
  /** readFull reads a row in full (PROTOCOL.md, section 7) into out, from at on. Absent values are 0. */
  readFull(r, mask, owned, out, at) {
    out.fill(0, at, at + this.schema.values);
    for (const part of this.parts[owned ? 1 : 0]) {
      if ((mask >>> part.component & 1) === 0) continue;
      const from = r.taken;
      for (const f2 of part.fields) f2.read(r, out, at + f2.index);
      this.count(part.component, r.taken - from);
    }
  }
  /** read reads a coded row into out, from at on. The reader's check says whether it was malformed. */
  read(r, mask, owned, past, out, at) {
    this.r = r;
    this.past = past;
    this.ratio = past.ratio();
    const parts = this.parts[owned ? 1 : 0];
    for (let i = 0, n = this.schema.values; i < n; i++) out[at + i] = past.values[past.base + i];
    for (let i = 0; i < parts.length; i++) {
      if ((mask >>> i & 1) === 0) continue;
      const from = r.taken;
      this.readPart(parts[i], out, at);
      this.count(i, r.taken - from);
    }
  }
  count(component, bits4) {
    const c = this.received[component];
    c.rows++;
    c.bits += bits4;
  }
  readPart(p, out, at) {
    this.set = p.set;
    this.predict(p);
    const { units, groups } = p;
    const digits = this.digits;
    const flag = p.flag >= 0 ? this.past.values[this.past.base + p.flag] : 0;
    const context = 2 * (this.margin + 4 * (this.moves === 0 ? 0 : 1 + step4(this.moves - 1, 2, 8, 32, 128))) + flag;
    digits.fill(0, 0, units.length);
    for (let g = 0; g < groups.length; g++) {
      const group = groups[g];
      let symbol = this.symbol(group.heads[context]);
      for (let j = group.last - 1; j >= group.first; j--) {
        const radix = units[j].radix;
        digits[j] = symbol % radix;
        symbol = symbol / radix | 0;
      }
    }
    for (let j = 0; j < units.length; j++) {
      const u = units[j];
      if (digits[j] !== 0 || u.radix === 1) this.readUnit(p, u, digits[j], out, at + u.index);
    }
  }
  symbol(code) {
    const entry = code.entry(this.r.peek());
    this.r.skip(entry & 15);
    return entry >> 4;
  }
  readUnit(p, u, digit, out, at) {
    switch (u.letter) {
      case "b":
        out[at] = 1 - out[at];
        break;
      case "p":
        for (let i = 0; i < 3; i++) {
          this.feature[7] = mag(Math.floor(Math.abs(this.own[i]) / 256));
          this.feature[8] = mag(Math.floor(Math.abs(this.mismatch[i]) / 256));
          out[at + i] = this.residual(u, i, this.expected[i], digit - 1 >> i & 1);
        }
        break;
      case "q":
        out[at] = this.readRotation(p, u, digit);
        break;
      case "v":
      case "n":
        for (let i = 0; i < u.fields; i++) out[at + i] = this.readNumber(u, u.index + i);
        break;
      default:
        u.field.read(this.r, out, at);
    }
  }
  // Section 5.
  predict(p) {
    const { feature, past } = this;
    this.attached = this.zone = this.margin = 3;
    this.speed = this.moves = this.missed = this.missedTurn = 0;
    feature.fill(0);
    feature[0] = 16;
    const anchored = past.anchor === p.component;
    if (anchored) this.predictParent(p);
    if (p.position) this.predictPosition(p, p.position, anchored);
    if (p.rotation) this.predictRotation(p, p.rotation, anchored);
  }
  /** predictParent computes onward and before (section 4). */
  predictParent(p) {
    const { past, onward, before: before2, q0: q02, q1: q12 } = this;
    identity(onward);
    identity(before2);
    const u = p.rotation;
    if (!u) return;
    unpack2(past.anchorNow[past.now + u.index], u.n, q02);
    unpack2(past.anchorPast[past.anchorBase + u.index], u.n, q12);
    conj(q12);
    product(q02, q12, onward);
    if (past.older < 0) return;
    conj(q12);
    unpack2(past.anchorPast[past.anchorOlder + u.index], u.n, q02);
    conj(q02);
    product(q12, q02, before2);
  }
  /** predictPosition is step 2. */
  predictPosition(p, u, anchored) {
    const { past, own, followed, mismatch, feature, ratio } = this;
    const values = past.values;
    const base = past.base + u.index;
    const older = past.older + u.index;
    for (let i = 0; i < 3; i++) {
      own[i] = past.older < 0 ? 0 : Math.floor((values[base + i] - values[older + i]) * ratio / 256);
      followed[i] = mismatch[i] = 0;
    }
    const s = sum3(own);
    if (anchored) this.follow(p, u, s);
    feature[1] = mag(Math.floor(s / 256));
    if (p.zones) {
      const v = values[base + p.zones.axis];
      this.zone = (p.zones.first <= v ? 1 : 0) + (p.zones.second <= v ? 1 : 0);
      feature[10] = mag(Math.max(v - p.zones.first, 0));
    }
    const moved = Math.floor(s / 256);
    this.speed = step4(moved, 8, 40, 160, 500);
    const w = this.set.weights;
    let k = (this.zone * 20 + this.attached * 5 + this.speed) * 15;
    for (let i = 0; i < 3; i++, k += 4) {
      const weighted = p.wide && anchored ? weigh(own[i], followed[i], mismatch[i], w, k) : Math.floor((own[i] * w[k] + followed[i] * w[k + 1] + mismatch[i] * w[k + 2] + w[k + 3] * 2 ** 11 + 2 ** 15) / 2 ** 16);
      this.expected[i] = clamp(values[base + i] + weighted, 0, u.largest);
    }
    this.moves = moved;
  }
  /** follow computes followed, mismatch and attached. */
  follow(p, u, s) {
    const { past, own, followed, mismatch, feature, ratio, v0, v1 } = this;
    const { values, anchorNow, anchorPast } = past;
    const base = past.base + u.index;
    const now2 = past.now + u.index;
    const was = past.anchorBase + u.index;
    for (let i = 0; i < 3; i++) v0[i] = values[base + i] - anchorPast[was + i];
    applyTo(this.onward, v0, v1);
    for (let i = 0; i < 3; i++) followed[i] = (anchorNow[now2 + i] - values[base + i]) * 256 + v1[i];
    if (past.older >= 0) {
      const older = past.older + u.index;
      const wasOlder = past.anchorOlder + u.index;
      for (let i = 0; i < 3; i++) v1[i] = values[older + i] - anchorPast[wasOlder + i];
      applyTo(this.before, v1, mismatch);
      for (let i = 0; i < 3; i++) {
        const d = v0[i] * 256 - mismatch[i];
        mismatch[i] = p.wide ? Number(BigInt.asIntN(64, BigInt(d) * BigInt(ratio)) >> 16n) : Math.floor(d * ratio / 2 ** 16);
      }
      const m = sum3(mismatch);
      const part = (percent) => Math.floor(s * percent / 100);
      this.attached = m < part(15) + 768 ? 0 : m < part(40) + 1536 ? 1 : m < part(80) ? 2 : 3;
      feature[2] = mag(Math.floor(m / 256));
    }
    for (let i = 0; i < 3; i++) v1[i] = followed[i] - own[i];
    feature[6] = mag(Math.floor(sum3(v1) / 256));
  }
  /** predictRotation is step 3. */
  predictRotation(p, u, anchored) {
    const { past, facing, feature } = this;
    const q = this.q0;
    unpack2(past.values[past.base + u.index], u.n, q);
    let turns2 = 0;
    if (u.linear) {
      turns2 = this.predictTurn(u, q, anchored);
      const w = this.set.weights;
      const k = (this.zone * 20 + this.attached * 5 + step4(turns2, 100, 500, 2e3, 5e3)) * 15 + 12;
      for (let i = 0; i < 4; i++) {
        facing[i] = q[i] + Math.floor((this.turn[i] * w[k] + this.ride[i] * w[k + 1] + this.twist[i] * w[k + 2] + 128) / 256);
      }
      unit(facing, q);
    } else facing.set(q);
    feature[4] = mag(Math.floor(turns2 / 8));
    this.moves += Math.floor(turns2 / 16);
    this.findLargest();
  }
  /** predictTurn computes turn, ride and twist, and returns turns. */
  predictTurn(u, q, anchored) {
    const { past, feature, ratio, turn, ride, twist, q1: q12, q2, q3 } = this;
    const p = q12;
    ride.fill(0);
    twist.fill(0);
    turn.fill(0);
    if (past.older >= 0) {
      unpack2(past.values[past.older + u.index], u.n, p);
      conj(p);
      product(q, p, q2);
      conj(p);
      power(q2, ratio, q3);
      product(q3, q, turn);
      near(turn, q);
      subtract(turn, q);
    } else p.set(q);
    if (anchored) {
      product(this.onward, q, ride);
      near(ride, q);
      subtract(ride, q);
      if (past.older >= 0) {
        product(this.before, p, q2);
        near(q2, q);
        for (let i = 0; i < 4; i++) twist[i] = Math.floor((q[i] - q2[i]) * ratio / 2 ** 16);
      }
      feature[9] = mag(Math.floor(sum4(twist) / 8));
      let apart = 0;
      for (let i = 0; i < 4; i++) apart += Math.abs(turn[i] - ride[i]);
      feature[11] = mag(Math.floor(apart / 8));
    }
    return sum4(turn);
  }
  /** findLargest finds the largest component of facing, and the margin. */
  findLargest() {
    let largest = 0;
    let most = -1;
    let second = -1;
    for (let i = 0; i < 4; i++) {
      const v = Math.abs(this.facing[i]);
      if (v > most) {
        second = most;
        most = v;
        largest = i;
      } else if (v > second) second = v;
    }
    this.largest = largest;
    const d = most - second;
    this.margin = (d >= 100 ? 1 : 0) + (d >= 400 ? 1 : 0) + (d >= 1600 ? 1 : 0);
  }
  // Section 6.
  readRotation(p, u, digit) {
    let q = this.facing;
    let g = this.largest;
    if (u !== p.rotation) {
      q = this.q1;
      const value2 = this.past.values[this.past.base + u.index];
      unpack2(value2, u.n, q);
      g = value2 & 3;
    }
    const h = g + digit - 1 & 3;
    const sign = q[h] < 0 ? -1 : 1;
    let value = h;
    let lane = 3;
    let place2 = 4;
    for (let i = 0; i < 4; i++) {
      if (i === h) continue;
      const expected = clamp(Math.trunc((sign * q[i] * u.largest + u.ring * 11585) / 23170), 0, u.largest);
      value += this.residual(u, lane, expected, 0) * place2;
      place2 *= u.ring;
      lane++;
    }
    return value;
  }
  readNumber(u, index) {
    const { past } = this;
    const base = past.values[past.base + index];
    let expected = base;
    let move = 0;
    if (past.older >= 0) move = Math.floor(short(past.values[past.older + index], base, u.ring) * this.ratio / 2 ** 16);
    if (u.linear) {
      expected += move;
      expected = u.clamps ? clamp(expected, 0, u.largest) : expected - Math.floor(expected / u.ring) * u.ring;
    }
    this.feature[1] = mag(Math.abs(move));
    return this.residual(u, u.linear ? 6 : 7, expected, 0);
  }
  residual(u, lane, expected, negative) {
    const { r, feature: f2 } = this;
    const w = this.set.scales;
    const k = ((lane * 4 + this.attached) * 5 + this.speed) * 12;
    const total = 128 + w[k] * f2[0] + w[k + 1] * f2[1] + w[k + 2] * f2[2] + w[k + 3] * f2[3] + w[k + 4] * f2[4] + w[k + 5] * f2[5] + w[k + 6] * f2[6] + w[k + 7] * f2[7] + w[k + 8] * f2[8] + w[k + 9] * f2[9] + w[k + 10] * f2[10] + w[k + 11] * f2[11];
    const symbol = this.symbol(this.set.residuals[lane * 32 + clamp(total >> 8, 0, 31)]);
    let d = symbol;
    let v = 0;
    if (symbol === escape) {
      v = r.long(u.n);
      if (v > u.largest) r.refuse(`${u.field.path} is ${v}, at most ${u.largest}`);
      d = short(expected, v, u.ring);
    } else {
      if (symbol >= 8) {
        const power2 = (symbol - 8 >> 1) + 2;
        d = (2 + (symbol & 1) << power2) + r.bits(power2);
      }
      if (lane < 2) {
        if (negative === 1) d = -1 - d;
      } else if (d !== 0 && r.bits(1) === 1) d = -d;
      if (2 * Math.abs(d) > u.ring) r.refuse(`${u.field.path}: a residual of ${d}`);
      v = expected + d;
      if (v < 0) v += u.ring;
      else if (v >= u.ring) v -= u.ring;
    }
    if (lane >= 3 && lane <= 5) {
      this.missedTurn += Math.abs(d);
      f2[5] = mag(this.missedTurn);
    } else {
      this.missed += Math.abs(d);
      f2[3] = mag(this.missed);
    }
    return v;
  }
};
function clamp(v, least, most) {
  return v < least ? least : v > most ? most : v;
}
function step4(v, a, b, c, d) {
  return (a <= v ? 1 : 0) + (b <= v ? 1 : 0) + (c <= v ? 1 : 0) + (d <= v ? 1 : 0);
}
function mag(v) {
  if (v < 2147483647) {
    const u2 = v + 1;
    const n2 = 31 - Math.clz32(u2);
    return 4 * n2 + (n2 >= 2 ? u2 >> n2 - 2 & 3 : u2 << 2 - n2 & 3);
  }
  const u = Math.min(v + 1, 2 ** 40);
  const high = Math.floor(u / 2 ** 16);
  const n = 31 - Math.clz32(high);
  return 4 * (n + 16) + (high >> n - 2 & 3);
}
function short(a, b, ring) {
  const d = b - a;
  if (2 * d > ring) return d - ring;
  return 2 * d <= -ring ? d + ring : d;
}
function sum3(v) {
  return Math.abs(v[0]) + Math.abs(v[1]) + Math.abs(v[2]);
}
function sum4(q) {
  return sum3(q) + Math.abs(q[3]);
}
function isqrt(v) {
  if (v <= 0) return 0;
  const n = Math.floor(Math.sqrt(v));
  return n * n > v ? n - 1 : n;
}
function weigh(own, followed, mismatch, w, k) {
  const sum = BigInt(own) * BigInt(w[k]) + BigInt(followed) * BigInt(w[k + 1]) + BigInt(mismatch) * BigInt(w[k + 2]);
  return Number(BigInt.asIntN(64, sum + BigInt(w[k + 3] * 2 ** 11 + 2 ** 15)) >> 16n);
}
function identity(q) {
  q[0] = q[1] = q[2] = 0;
  q[3] = 2 ** 14;
}
function conj(q) {
  q[0] = -q[0];
  q[1] = -q[1];
  q[2] = -q[2];
}
function subtract(q, p) {
  for (let i = 0; i < 4; i++) q[i] -= p[i];
}
function near(q, p) {
  if (q[0] * p[0] + q[1] * p[1] + q[2] * p[2] + q[3] * p[3] < 0) for (let i = 0; i < 4; i++) q[i] = -q[i];
}
var round14 = (v) => Math.floor((v + 2 ** 13) / 2 ** 14);
function product(q, p, out) {
  out[0] = round14(q[3] * p[0] + q[0] * p[3] + q[1] * p[2] - q[2] * p[1]);
  out[1] = round14(q[3] * p[1] - q[0] * p[2] + q[1] * p[3] + q[2] * p[0]);
  out[2] = round14(q[3] * p[2] + q[0] * p[1] - q[1] * p[0] + q[2] * p[3]);
  out[3] = round14(q[3] * p[3] - q[0] * p[0] - q[1] * p[1] - q[2] * p[2]);
}
function unit(v, p) {
  const length2 = isqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3]);
  if (length2 === 0) {
    v.set(p);
    return;
  }
  const inverse = Math.floor(2 ** 38 / length2);
  for (let i = 0; i < 4; i++) v[i] = Math.floor((v[i] * inverse + 2 ** 23) / 2 ** 24);
}
var identityRotation = Float64Array.of(0, 0, 0, 2 ** 14);
var shift14 = (v) => Math.floor(v / 2 ** 14);
function power(q, r, out) {
  if (q[3] < 0) for (let i = 0; i < 4; i++) q[i] = -q[i];
  const inverse = Math.floor(2 ** 28 / Math.max(q[3], 2048));
  let s = 0;
  for (let i = 0; i < 3; i++) {
    out[i] = shift14(q[i] * inverse);
    s += shift14(out[i] * out[i]);
  }
  s = Math.min(s, 2 ** 14);
  let k = 2 ** 14 - shift14(s * 5461) + shift14(shift14(s * s) * 3276);
  k = Math.min(Math.floor(k * r / 2 ** 16), 2 ** 17);
  const a = Math.min(shift14(shift14(s * k) * k), 2 ** 14);
  k = shift14(k * (2 ** 14 + shift14(a * 5461) + shift14(shift14(a * a) * 2184)));
  for (let i = 0; i < 3; i++) out[i] = shift14(out[i] * k);
  out[3] = 2 ** 14;
  unit(out, identityRotation);
}
function applyTo(q, v, out) {
  const x = q[0];
  const y = q[1];
  const z = q[2];
  const w = q[3];
  const half = (n) => Math.floor(n / 2 ** 13);
  const a = v[0];
  const b = v[1];
  const c = v[2];
  out[0] = Math.floor(((2 ** 14 - half(y * y + z * z)) * a + half(x * y - z * w) * b + half(x * z + y * w) * c) / 64);
  out[1] = Math.floor((half(x * y + z * w) * a + (2 ** 14 - half(x * x + z * z)) * b + half(y * z - x * w) * c) / 64);
  out[2] = Math.floor((half(x * z - y * w) * a + half(y * z + x * w) * b + (2 ** 14 - half(x * x + y * y)) * c) / 64);
}
function unpack2(value, n, q) {
  const N = 2 ** n - 1;
  const largest = value & 3;
  let rest = 2 ** 28;
  let v = value >>> 2;
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue;
    q[i] = Math.trunc((2 * (v & N) - N) * 11585 / N);
    rest -= q[i] * q[i];
    v >>>= n;
  }
  q[largest] = isqrt(rest);
}

// src/structure.ts
var Op2 = { enter: 1, leave: 2, destroy: 3, text: 4, event: 5, answer: 6, extension: 7 };
var StructureRecord = class {
  op;
  detail;
  index = 0;
  generation = 0;
  kind = 0;
  owned = false;
  /** form is that of an exact state, -1 of an ordinary one; back is its age in ticks. */
  form = -1;
  back = 0;
  row = none2;
  /** data is the text, the event, or the texts of an Enter; empty without any. */
  data = none2;
  /** number is that of a text field, an event or a provisional handle. */
  number = 0;
  cause = 0;
  extension;
  constructor(head) {
    this.op = head & 7;
    this.detail = head >> 3;
  }
};
var none2 = new Uint8Array(0);
function parseStructure(body, simulation) {
  const r = new ByteReader(body);
  const m = { first: r.uvarint("first"), ticks: r.uvarint("ticks"), records: [] };
  while (r.left > 0) m.records.push(readRecord(r, simulation));
  if (m.first === 0 || m.records.length === 0) fail("a Structure message without records, or of record 0");
  if (m.first + m.records.length > 2 ** 32) fail("record numbers beyond 32 bits");
  return m;
}
var highestDetail = [-1, 7, 1, 1, 31, 31, 1, 5];
function readRecord(r, simulation) {
  const x = new StructureRecord(r.u8());
  if (x.detail > highestDetail[x.op]) fail(`a record of op ${x.op} with detail ${x.detail}`);
  switch (x.op) {
    case Op2.enter:
      readEnter(r, x);
      break;
    case Op2.leave:
      readHandle(r, x);
      break;
    case Op2.destroy:
      readHandle(r, x);
      if (x.detail === 1 && (x.cause = r.u8()) === 0) fail("a cause of 0");
      break;
    case Op2.text:
      readNumber(r, x, maxTextFields);
      readHandle(r, x);
      x.data = r.bytes(r.uvarint("text", maxTextField));
      break;
    case Op2.event:
      readNumber(r, x, maxEventKinds);
      x.data = r.bytes(r.uvarint("event", maxArgs));
      break;
    case Op2.answer:
      x.number = r.uvarint("provisional handle");
      if (x.detail === 1) readHandle(r, x);
      break;
    default:
      x.extension = simulation?.readExtension(r, x.detail);
  }
  if (!simulation && (x.op === Op2.extension || x.form >= 0)) fail("a record of a simulation, in a session that does not simulate");
  return x;
}
function readEnter(r, x) {
  x.owned = (x.detail & 1) !== 0;
  readHandle(r, x);
  x.kind = r.uvarint("kind", maxKinds - 1);
  if (x.detail & 4) {
    const form = r.u8();
    x.form = form & 3;
    x.back = form >> 2;
  }
  x.row = r.bytes(r.uvarint("row", maxRowBytes));
  if (x.detail & 2) {
    x.data = r.bytes(r.uvarint("texts", maxTexts));
    if (x.data.length === 0) fail("an Enter with texts of no bytes");
  }
}
function readHandle(r, x) {
  x.index = r.uvarint("slot", maxSlots - 1);
  x.generation = r.uvarint("generation");
  if (x.generation % 2 === 0) fail(`a record of the even generation ${x.generation}`);
}
function readNumber(r, x, below) {
  x.number = x.detail < 31 ? x.detail : 31 + r.uvarint("number", below - 1 - 31);
}

// src/wishes.ts
var maxOpen = 256;
var maxKept = 4096;
var isOpen = (x) => x.state !== "granted" && x.state !== "rejected";
var Wishes = class {
  list = /* @__PURE__ */ new Map();
  // the newest, in order
  next = 0;
  open = 0;
  nextInput = 0;
  // lowest index that may be new in an input
  nextSent = 0;
  // lowest index that the next command may name
  /** take returns a new provisional handle. */
  take() {
    if (this.open >= maxOpen && !this.rejectUnused()) throw new RangeError(`${maxOpen} provisional handles await answers: take fewer`);
    const oldest = this.list.keys().next().value;
    if (this.list.size === maxKept && oldest !== void 0) {
      const x = this.list.get(oldest);
      if (isOpen(x) && x.state !== "unused") throw new RangeError("a provisional handle has awaited its answer for too long: take fewer");
      if (isOpen(x)) this.open--;
      this.list.delete(oldest);
    }
    if (this.next === 2 ** 32 - 1) throw new RangeError("all provisional handles are used up: connect with a new client");
    this.list.set(this.next, { state: "unused", entity: none, command: 0, tick: 0 });
    this.open++;
    return newHandle(this.next++, provisionalGeneration);
  }
  rejectUnused() {
    for (const [index, x] of this.list) {
      if (x.state !== "unused") continue;
      this.answer(index, none);
      return true;
    }
    return false;
  }
  /** entity returns what a provisional handle stands for: none before its answer, and if it was rejected. */
  entity(index) {
    const x = this.list.get(index);
    return x?.state === "granted" ? x.entity : none;
  }
  /** verdict is that of a handle that stands for no entity. */
  verdict(index) {
    const x = this.list.get(index);
    return x !== void 0 && isOpen(x) ? "provisional" : "stale";
  }
  /** answers reports whether an Answer to index is lawful. */
  answers(index) {
    const x = this.list.get(index);
    return x !== void 0 && isOpen(x) && x.state !== "unused";
  }
  /** answer ends a wish that is not answered; entity is none if it is rejected. */
  answer(index, entity) {
    const x = this.list.get(index);
    this.open--;
    x.state = entity === none ? "rejected" : "granted";
    x.entity = entity;
  }
  reject(doomed) {
    if (this.open === 0) return;
    for (const [index, x] of this.list) if (isOpen(x) && doomed(x)) this.answer(index, none);
  }
  /** applied handles an applied snapshot of a tick, and the newest input that its server had applied. */
  applied(input, tick) {
    this.reject((x) => x.state === "input" && input >= x.tick || x.state === "executed" && tick > x.tick);
  }
  /** resumed handles the Welcome of a resumed session, whose server has received a number of commands. */
  resumed(commands, tick) {
    this.reject((x) => {
      if (x.state === "command") x.state = "executed";
      if (x.state !== "executed") return false;
      x.tick = tick;
      return x.command > commands;
    });
  }
  /** renew handles the start of a new session. */
  renew() {
    this.reject(() => true);
  }
  /** forget makes every handle Stale: the world is gone. */
  forget() {
    this.list.clear();
    this.open = 0;
  }
  /** result rejects the wishes of a command whose Result arrived: its Answers precede it. */
  result(first, n) {
    for (let i = first; i < first + n; i++) {
      const x = this.list.get(i);
      if (x && isOpen(x)) this.answer(i, none);
    }
  }
  /** sent notes that a command was sent, by its number in the session. */
  sent(first, n, command) {
    for (let i = first; i < first + n; i++) {
      const x = this.list.get(i);
      x.state = "command";
      x.command = command;
    }
    if (n > 0) this.nextSent = first + n;
  }
  /** pushed notes that the input of a tick names wishes. */
  pushed(indexes, tick) {
    for (const index of indexes) {
      const x = this.list.get(index);
      x.state = "input";
      x.tick = Math.max(x.tick, tick);
      this.nextInput = Math.max(this.nextInput, index + 1);
    }
  }
  /**
   * forward replaces each answered handle in a message by its entity's, and returns the
   * indexes of the others, ascending.
   */
  forward(m, p, input) {
    const indexes = /* @__PURE__ */ new Set();
    for (const f2 of m.fields) {
      if (f2.kind !== "ref") continue;
      const index = p.values[f2.index];
      const generation = p.values[f2.index + 1];
      if (generation % 2 === 1 || generation === 0) continue;
      if (generation !== provisionalGeneration || index >= this.next) throw new RangeError(`${index}v${generation} is no handle of this client`);
      const x = this.list.get(index);
      if (!x || !isOpen(x)) {
        const real = this.entity(index);
        p.values[f2.index] = indexOf(real);
        p.values[f2.index + 1] = generationOf(real);
      } else if (!this.mayName(index, x, input)) {
        throw new RangeError(`${index}v2 belongs to another command or input, or to an older one than the last`);
      } else indexes.add(index);
    }
    return [...indexes].sort((a, b) => a - b);
  }
  mayName(index, x, input) {
    if (input) return x.state === "input" || x.state === "unused" && index >= this.nextInput;
    return x.state === "unused" && index >= this.nextSent;
  }
  /** ofCommand checks the handles that a raw command names, and returns their indexes, ascending. */
  ofCommand(handles) {
    return handles.map((h) => {
      const x = this.list.get(indexOf(h));
      if (generationOf(h) !== provisionalGeneration || !x || !this.mayName(indexOf(h), x, false)) throw new RangeError("a handle that a command cannot name: take one for each command");
      return indexOf(h);
    }).sort((a, b) => a - b);
  }
};
function checkWishes(indexes) {
  const n = indexes.length;
  if (n > maxWishes || n > 0 && indexes[n - 1] - indexes[0] !== n - 1) {
    throw new RangeError(`a command has ${n} provisional handles: want at most ${maxWishes}, taken one right after the other`);
  }
}

// src/replica.ts
var ReplicaStats = class {
  snapshots = 0;
  // applied
  duplicates = 0;
  held = 0;
  // overtook their structure
  overflowed = 0;
  // dropped: too many waited
  unreadable = 0;
  faults = 0;
  // the fold did not match
  rows = 0;
  // that became current
  rowsLate = 0;
  enters = 0;
  leaves = 0;
  destroys = 0;
  events = 0;
  texts = 0;
};
var Events = class {
  handlers = /* @__PURE__ */ new Map();
  shapes = /* @__PURE__ */ new WeakMap();
  /** any receives every event before the handlers, with its quantised values. */
  any;
  /** on calls f for each event of a name; rendered: when the render reaches its tick. */
  on(name, f2, rendered = false) {
    const list = this.handlers.get(name) ?? [];
    list.push({ f: f2, rendered });
    this.handlers.set(name, list);
  }
  /** @internal */
  deliver(tick, kind, p, later) {
    guard(() => this.any?.(tick, kind, p));
    const list = this.handlers.get(kind.name);
    if (!list) return;
    let shape = this.shapes.get(kind);
    if (!shape) this.shapes.set(kind, shape = new Shape(kind.message.fields, kind.message.texts));
    const event = shape.restore(p);
    for (const { f: f2, rendered } of list) {
      if (rendered) later(tick, () => f2(tick, event));
      else guard(() => f2(tick, event));
    }
  }
};
function guard(f2) {
  try {
    f2();
  } catch (thrown) {
    rethrow(thrown);
  }
}
function rethrow(thrown) {
  if (typeof reportError === "function") reportError(thrown);
  else
    queueMicrotask(() => {
      throw thrown;
    });
}
var maxHeld = 16;
var maxRendered = 256;
var minArena = 4096;
var bytesOfEntity = 256;
var bytesOfText = 32;
var textBytes = (texts) => texts.reduce((n, t) => n + bytesOfText + 2 * t.length, 0);
var Replica = class {
  layout;
  stats;
  /** tick of the newest snapshot applied. */
  tick = 0;
  /** input is the tick of the newest input that the server had applied at tick, 0 if none. */
  input = 0;
  /** structure is the number of structure records applied. */
  structure = 0;
  /** @internal */
  acks = new Acks();
  ackTicks = new Uint32Array(64);
  // of the snapshots in acks, by number modulo 64
  /** @internal span is how many ticks of states are kept for interpolation; shown is the newest render. */
  span = 0;
  /** @internal */
  shown = 0;
  /** bodies are those that the client computes; undefined unless the session simulates. */
  bodies;
  codec;
  floor;
  ceiling;
  maxSlots;
  limits;
  observer;
  events;
  wishes;
  cells = new Cells();
  entities = [];
  entityBytes = 0;
  /** @internal structureTick is the tick of the newest structure message applied, which may be ahead of tick. */
  structureTick = 0;
  before = 0;
  // newest tick of a snapshot before tick
  held = [];
  /** @internal able says that a room to which the session moves may simulate. */
  able = false;
  fence = 0;
  // snapshots of lower structure numbers are of an earlier room
  rendered = [];
  loads;
  // of components
  valuesLoad;
  // Scratch for the State datagram being applied, a row each.
  reader = new BitReader();
  eventBits = new BitReader();
  header = new StateHeader();
  fold = new Fold();
  past = new Past();
  coding = new Baseline();
  own = new Baseline();
  slots = new Uint32Array(maxRows);
  ages = new Uint32Array(maxRows);
  gaps = new Uint32Array(maxRows);
  bases = new Int8Array(maxRows);
  olders = new Int8Array(maxRows);
  anchors = new Int16Array(maxRows);
  // row, -1: none
  anchorParts = new Int8Array(maxRows);
  newest = new Uint8Array(maxRows);
  simulation;
  exact;
  forms = new Uint8Array(maxRows);
  backs = new Uint8Array(maxRows);
  states = [];
  grid = new Float32Array(6);
  rows = [];
  // never shortened: growing again allocates
  arena = new Uint32Array(minArena);
  payloads = [];
  // of the events of a message, in order
  // Scratch for the Structure message being checked and applied.
  plans = /* @__PURE__ */ new Map();
  enters = [];
  answers = /* @__PURE__ */ new Set();
  bytesLeft = 0;
  planned = 0;
  retexted;
  // whose texts the newest records have changed
  constructor(layout, tables, floor3, ceiling, maxSlots2, limits, observer, events, wishes, stats, simulation) {
    this.layout = layout;
    this.codec = new Codec(layout.schema, tables);
    this.floor = floor3;
    this.ceiling = ceiling;
    this.maxSlots = maxSlots2;
    this.limits = limits;
    this.observer = observer;
    this.events = events;
    this.wishes = wishes;
    this.stats = stats;
    this.simulation = simulation;
    this.exact = simulation?.newExact();
    this.bodies = simulation && this.newBodies(simulation);
    this.valuesLoad = Math.floor(layout.schema.values / 256);
    this.loads = layout.schema.components.map((c) => {
      const quats = c.fields.filter((f2) => f2.kind === "quat").length;
      return 2 + Math.floor(c.fields.length / 12) + 2 * quats + (c.parent === "" ? 0 : 6);
    });
  }
  newBodies(simulation) {
    const { schema } = this.layout;
    if (!schema.motion) fail("the session simulates, but the schema does not say how bodies move");
    const { diverge } = this.observer;
    return simulation.newBodies({
      motion: schema.motion,
      kinds: schema.kinds,
      diverge: diverge && ((tick, names) => guard(() => diverge(tick, names.map((n) => newHandle(n.slot, n.generation)))))
    });
  }
  /** schema is the server's. */
  get schema() {
    return this.layout.schema;
  }
  /** received counts what was read of each component, also of exact states, since the session began: bits as they were in rows. */
  get received() {
    return this.codec.received;
  }
  /** all are the entities in view, in no particular order. The array changes in updates. */
  get all() {
    return this.entities;
  }
  /** @internal ackTick returns the tick of the snapshot n before the newest, n below 64, which was applied. */
  ackTick(n) {
    return this.ackTicks[Math.max(this.acks.newest - n, 0) % 64];
  }
  /** resolve returns the verdict on any handle (section 11.1). */
  resolve(h) {
    return this.verdict(indexOf(h), generationOf(h));
  }
  /** verdict is resolve of a handle's index and generation. */
  verdict(index, generation) {
    if (generation === provisionalGeneration) {
      const real = this.wishes.entity(index);
      if (real === none) return this.wishes.verdict(index);
      index = indexOf(real);
      generation = generationOf(real);
    }
    return verdicts[this.stateOf(index, generation)];
  }
  stateOf(index, generation) {
    if (generation % 2 === 0 || generation < this.floor || generation > this.ceiling || index >= this.maxSlots) return stale;
    const c = this.cells.peek(index);
    if (!c || c.generation < generation) return 0;
    return c.generation > generation ? stale : c.state;
  }
  /** entity returns the entity of a handle, undefined unless it is live. */
  entity(h) {
    if (generationOf(h) === provisionalGeneration) h = this.wishes.entity(indexOf(h));
    const index = indexOf(h);
    return this.stateOf(index, generationOf(h)) === live ? this.cells.peek(index).entity : void 0;
  }
  /** bytes estimates the replica's memory: what Limits.bytes bounds. */
  get bytes() {
    return this.cells.bytes + this.entityBytes + this.held.length * maxDatagram + this.arena.byteLength + (this.bodies?.bytes ?? 0);
  }
  // Structure: section 11.2.
  /** applyStructure applies a message whole or not at all, then the snapshots that waited for it. */
  applyStructure(body) {
    const m = parseStructure(body, this.simulation);
    if (m.first !== this.structure + 1) fail(`structure record ${m.first} follows ${this.structure}`);
    const tick = this.structureTick + m.ticks;
    if (tick > 2 ** 32 - 1) fail("structure of a tick beyond 2^32");
    this.check(m, tick);
    this.structureTick = tick;
    const enters = this.enters;
    const payloads = this.payloads.splice(0);
    this.enters = [];
    for (const x of m.records) {
      this.reportTexts(x);
      this.structure++;
      this.apply(x, tick, enters, payloads);
    }
    this.reportTexts(void 0);
    this.release();
  }
  /** check checks that all records can be applied, decodes their rows and events, and changes nothing visible. */
  check(m, tick) {
    this.plans.clear();
    this.answers.clear();
    this.enters = [];
    this.payloads.length = 0;
    this.bytesLeft = this.limits.bytes - this.bytes;
    this.planned = this.entities.length;
    for (const x of m.records) this.checkRecord(x, tick);
  }
  checkRecord(x, tick) {
    if (x.op === Op2.event) {
      this.payloads.push(this.readEvent(x.number, false, x.data));
      return;
    }
    if (x.op === Op2.extension) {
      this.extend(x, tick);
      return;
    }
    if (x.op === Op2.answer) {
      this.checkAnswer(x);
      if (x.detail === 0) return;
    }
    if (x.index >= this.maxSlots || x.generation < this.floor || x.generation > this.ceiling) fail(`a record of ${x.index}v${x.generation}`);
    this.charge(this.cells.growth(x.index));
    const c = this.planOf(x.index);
    if (x.generation < c.generation) return;
    switch (x.op) {
      case Op2.answer:
        if (x.generation === c.generation && !c.stale) fail(`an answer with ${x.index}v${x.generation}, which has entered before`);
        return;
      case Op2.leave:
        if (x.generation === c.generation) this.planLive(c, false);
        return;
      case Op2.text:
        this.checkText(x, c);
        return;
      case Op2.enter:
        if (c.stale && x.generation === c.generation) fail(`an Enter of ${x.index}v${x.generation}, which was destroyed`);
        c.mask = this.checkEnter(x, tick);
        c.owned = x.owned;
    }
    c.generation = x.generation;
    c.stale = x.op === Op2.destroy;
    this.planLive(c, x.op === Op2.enter);
    if (this.planned > this.limits.entities) throw new LimitError("maxEntities", this.limits.entities);
  }
  /** extend applies an Extension: nothing shows effects before the next complete snapshot. */
  extend(x, tick) {
    const bodies = this.bodies;
    const before2 = bodies.bytes;
    bodies.extend(x.extension, tick, (h) => this.lives(h));
    this.charge(bodies.bytes - before2);
  }
  /** lives reports whether an entity is Live after the records checked so far. */
  lives(h) {
    const plan = this.plans.get(h.slot);
    if (plan) return plan.live && plan.generation === h.generation;
    return this.cells.peek(h.slot)?.entity?.generation === h.generation;
  }
  checkAnswer(x) {
    if (!this.wishes.answers(x.number) || this.answers.has(x.number)) fail(`an answer to provisional handle ${x.number}, which is not awaited`);
    this.answers.add(x.number);
  }
  charge(bytes) {
    this.bytesLeft -= bytes;
    if (this.bytesLeft < 0) throw new LimitError("maxBytes", this.limits.bytes);
  }
  planOf(slot2) {
    let p = this.plans.get(slot2);
    if (!p) {
      const c = this.cells.at(slot2);
      p = { generation: c.generation, stale: c.state === stale, live: c.state === live, owned: c.entity?.owned ?? false, mask: c.entity?.mask ?? 0 };
      this.plans.set(slot2, p);
    }
    return p;
  }
  planLive(p, isLive) {
    if (p.live !== isLive) this.planned += isLive ? 1 : -1;
    p.live = isLive;
  }
  /** checkEnter decodes the row and the texts of an Enter, and returns its mask. */
  checkEnter(x, tick) {
    const { schema } = this.layout;
    this.charge(bytesOfEntity + 4 * (2 + schema.values) + schema.texts.length * bytesOfText + 2 * x.data.length);
    const r = this.reader;
    r.reset(x.row);
    const mask = this.codec.readMask(r);
    const list = new Uint32Array(2 + schema.values);
    this.codec.readFull(r, mask, x.owned, list, 2);
    let body = null;
    if (x.form >= 0) {
      if (x.back >= tick) fail(`an exact state of ${x.back} ticks before tick ${tick}`);
      this.charge(this.bodies.bytesOfNew);
      this.checkBody(x.kind, mask);
      body = this.simulation.newState();
      this.readBody(x.form + 1, list, 2, body);
    }
    r.expectEnd();
    this.enters.push({ list, mask, texts: this.readTexts(x, mask), body });
    return mask;
  }
  /** checkBody checks that an entity may have an exact state. */
  checkBody(kind, mask) {
    const { body } = this.layout;
    if (body < 0 || (mask >>> body & 1) === 0 || !this.bodies.hasKind(kind)) fail(`an exact state of an entity of kind ${kind}, which cannot have one`);
  }
  /** readBody reads the exact part of a row, whose values begin at at. */
  readBody(form, values, at, s) {
    const { schema, body } = this.layout;
    for (let i = 0; i < 6; i++) {
      const f2 = schema.components[body].fields[i];
      this.grid[i] = f2.low + values[at + f2.index] * f2.step;
    }
    const from = this.reader.taken;
    this.simulation.readBody(this.reader, form, this.grid, schema.motion.restTicks, s);
    this.codec.received[body].bits += this.reader.taken - from;
  }
  /** readTexts reads the texts of an Enter (section 7). */
  readTexts(x, mask) {
    const r = new ByteReader(x.data);
    const texts = this.layout.schema.texts.map((f2) => {
      if ((mask >>> f2.component & 1) === 0 || f2.owner && !x.owned) return noText(f2);
      return readText(f2, r.bytes(r.uvarint(f2.path, f2.max)));
    });
    r.expectEnd();
    return texts;
  }
  checkText(x, c) {
    const f2 = this.layout.schema.texts[x.number];
    if (!f2) fail(`text field ${x.number}, which the schema lacks`);
    readText(f2, x.data);
    if (!c.live || x.generation !== c.generation) return;
    if ((c.mask >>> f2.component & 1) === 0 || f2.owner && !c.owned) fail(`${f2.path} of an entity that does not have it`);
    this.charge(2 * x.data.length);
  }
  apply(x, tick, enters, payloads) {
    if (x.op === Op2.event) {
      this.deliver(x.number, tick, payloads.shift());
      return;
    }
    if (x.op === Op2.answer) {
      this.wishes.answer(x.number, x.detail === 0 ? none : newHandle(x.index, x.generation));
      return;
    }
    if (x.op === Op2.extension) return;
    const c = this.cells.at(x.index);
    if (x.generation < c.generation) return;
    switch (x.op) {
      case Op2.enter:
        this.enter(c, x, tick, enters.shift());
        break;
      case Op2.leave:
        if (x.generation === c.generation && c.state === live) this.leave(c, x.detail === 1 ? "rule" : "interest");
        break;
      case Op2.destroy:
        this.destroy(c, x.index, x.generation, x.cause);
        break;
      case Op2.text:
        if (x.generation === c.generation && c.state === live) this.setText(c.entity, x);
    }
  }
  enter(c, x, tick, row) {
    let e = c.entity;
    if (c.state !== live || e.generation !== x.generation) {
      this.replace(c, x.generation);
      e = new Entity(x.index, x.generation, this.layout, this.bodies);
      e.place = this.entities.length;
      this.entities.push(e);
      this.entityBytes += bytesOfEntity;
    } else this.entityBytes -= e.bytes + textBytes(e.texts);
    e.kind = x.kind;
    e.mask = row.mask;
    e.owned = x.owned;
    e.texts = row.texts;
    e.entered = this.structure;
    e.load = this.loads.reduce((n, load2, i) => n + (row.mask >>> i & 1) * load2, 1 + this.valuesLoad);
    e.begin(row.list, tick - x.back);
    this.bodies?.entered({ slot: x.index, generation: x.generation }, x.kind, tick - x.back, row.body);
    this.entityBytes += e.bytes + textBytes(e.texts);
    c.generation = x.generation;
    c.state = live;
    c.entity = e;
    this.stats.enters++;
    if (this.observer.enter) guard(() => this.observer.enter(e));
  }
  /** leave takes the entity of a cell out of view. */
  leave(c, why) {
    const h = c.entity.handle;
    this.drop(c);
    c.state = hidden;
    this.stats.leaves++;
    if (this.observer.leave) guard(() => this.observer.leave(h, why));
  }
  /** destroy makes a tenant and all before it Stale, even if the tenant was never heard of. */
  destroy(c, index, generation, cause) {
    if (c.state === stale && generation === c.generation) return;
    this.replace(c, generation);
    c.generation = generation;
    c.state = stale;
    this.reportDestroyed(newHandle(index, generation), cause);
  }
  /** replace takes the live tenant, if any, out of its slot; another than generation is dead. */
  replace(c, generation) {
    if (c.state !== live) return;
    const e = c.entity;
    this.drop(c);
    c.state = stale;
    if (e.generation !== generation) this.reportDestroyed(e.handle, 0);
  }
  reportDestroyed(h, cause) {
    this.stats.destroys++;
    if (this.observer.destroy) guard(() => this.observer.destroy(h, cause));
  }
  drop(c) {
    const e = c.entity;
    this.entityBytes -= bytesOfEntity + e.bytes + textBytes(e.texts);
    this.bodies?.gone(e.index);
    const last = this.entities.pop();
    if (last !== e) {
      this.entities[e.place] = last;
      last.place = e.place;
    }
    c.entity = void 0;
  }
  setText(e, x) {
    const text2 = readText(this.layout.schema.texts[x.number], x.data);
    this.entityBytes += 2 * (text2.length - e.texts[x.number].length);
    e.texts[x.number] = text2;
    this.stats.texts++;
    this.retexted = e;
  }
  /** reportTexts reports the entity whose texts have changed, unless the next record changes them too. */
  reportTexts(next) {
    const e = this.retexted;
    if (!e || next?.op === Op2.text && next.index === e.index && next.generation === e.generation) return;
    this.retexted = void 0;
    if (this.observer.update) guard(() => this.observer.update(e));
  }
  // Events: sections 8 and 11.2.
  readEvent(number, unreliable, body) {
    const kind = this.layout.schema.events[number];
    if (!kind || kind.unreliable !== unreliable) fail(`event ${number}, which the schema lacks in this form`);
    return kind.message.parse(this.eventBits, body);
  }
  deliver(number, tick, p) {
    this.stats.events++;
    this.events.deliver(tick, this.layout.schema.events[number], p, (at, call) => this.addRendered(at, call));
  }
  addRendered(tick, call) {
    if (this.rendered.length === maxRendered) guard(this.rendered.shift().call);
    let at = this.rendered.length;
    while (at > 0 && this.rendered[at - 1].tick > tick) at--;
    this.rendered.splice(at, 0, { tick, call });
  }
  /** @internal deliverRendered delivers the waiting events up to a tick. */
  deliverRendered(tick) {
    while (this.rendered.length > 0 && this.rendered[0].tick <= tick) guard(this.rendered.shift().call);
  }
  // Snapshots: section 11.3.
  /** @internal The header of the newest datagram. */
  get stateHeader() {
    return this.header;
  }
  /** applyState applies a State datagram whole or not at all. It throws if that breaks the protocol. */
  applyState(d) {
    const h = this.header;
    h.parse(d);
    if (this.acks.duplicate(h.seq) || h.structure < this.fence) {
      this.stats.duplicates++;
      return "duplicate";
    }
    const waits = h.structure > this.structure;
    if (!this.bodies && !(waits && this.able) && (h.complete || h.audited || h.continued || h.exact)) fail("a State datagram of a simulation, in a session that does not simulate");
    if (waits) return this.hold(d);
    this.reader.reset(d, h.rest, d.length);
    this.readHeaders();
    const load2 = this.findEntities();
    if (load2 < 0) {
      this.stats.unreadable++;
      return "unreadable";
    }
    if (this.fold.value !== h.fold) {
      this.stats.faults++;
      return "faulty";
    }
    if (load2 > maxLoad) fail(`rows of load ${load2}, at most ${maxLoad}`);
    if (this.bodies) {
      for (let i = 0; i < h.rows; i++) if (this.forms[i] !== 0) this.checkBody(this.rows[i].kind, this.rows[i].mask);
    }
    if (!this.findBaselines()) {
      this.stats.unreadable++;
      return "unreadable";
    }
    this.decode();
    this.checkGrowth();
    this.publish();
    return "applied";
  }
  /** readHeaders reads the headers of the rows. */
  readHeaders() {
    const { header: h, reader: r } = this;
    if (h.rows === 0) return;
    const k = r.bits(4);
    this.coding.read(r, h.tick);
    let next = 0;
    let ordinary = 0;
    for (let i = 0; i < h.rows; i++) {
      const slot2 = next + r.golomb(k);
      let b = this.coding;
      if (r.bits(1) === 1) {
        b = this.own;
        b.read(r, h.tick);
        if (b.age === this.coding.age && b.gap === this.coding.gap) r.refuse("an own baseline equals the usual one");
      }
      this.forms[i] = this.backs[i] = 0;
      if (h.exact) {
        this.exact.read(r, h.tick, b.age);
        this.forms[i] = this.exact.form;
        this.backs[i] = this.exact.back;
      }
      if (this.forms[i] === 0) ordinary++;
      r.check();
      if (slot2 >= this.maxSlots) fail(`a row of slot ${slot2}`);
      this.slots[i] = slot2;
      this.ages[i] = b.age;
      this.gaps[i] = b.gap;
      next = slot2 + 1;
    }
    if (h.exact && ordinary === h.rows) fail("a State datagram announces exact rows and has none");
  }
  /** findEntities finds and folds the entities of the rows, and returns their load; −1 if one is not known. */
  findEntities() {
    const { header: h, rows, fold: fold2 } = this;
    let load2 = 0;
    fold2.reset();
    for (let i = 0; i < h.rows; i++) {
      const e = this.cells.peek(this.slots[i])?.entity;
      if (!e || e.entered > h.structure) return -1;
      rows[i] = e;
      fold2.add(e.index, e.generation);
      load2 += e.load;
    }
    return load2;
  }
  /** findBaselines finds the baselines and anchors of the rows. It returns false if a state is not known. */
  findBaselines() {
    const { header: h, rows } = this;
    for (let i = 0; i < h.rows; i++) {
      this.bases[i] = this.olders[i] = this.anchors[i] = -1;
      const age = this.ages[i];
      if (age === 0) continue;
      const base = this.bases[i] = rows[i].state(h.tick - age);
      if (base < 0) return false;
      const gap = this.gaps[i];
      if (gap === 0) continue;
      const older = this.olders[i] = rows[i].state(h.tick - age - gap);
      if (older < 0) return false;
    }
    for (let i = 0; i < h.rows; i++) this.findAnchor(i);
    return true;
  }
  /** parentPart returns the first present component of row i with a parent line, −1 if it has none. */
  parentPart(i) {
    if (this.bases[i] < 0) return -1;
    const { components } = this.layout.schema;
    for (let c = 0; c < components.length; c++) {
      if (components[c].parent !== "" && this.rows[i].mask >>> c & 1) return c;
    }
    return -1;
  }
  /** holderAt returns where in row i's states its base has the parent's handle. */
  holderAt(i, part) {
    return this.rows[i].valuesAt(this.bases[i]) + this.layout.schema.components[part].holder;
  }
  findAnchor(i) {
    const part = this.parentPart(i);
    if (part < 0) return;
    const at = this.holderAt(i, part);
    const values = this.rows[i].all;
    const generation = values[at + 1];
    const a = this.rowOf(values[at]);
    if (generation === 0 || a < 0) return;
    const e = this.rows[a];
    if (e.generation !== generation || this.ages[a] !== this.ages[i] || this.gaps[a] !== this.gaps[i] || this.backs[a] !== this.backs[i] || (e.mask >>> part & 1) === 0) return;
    const own = this.parentPart(a);
    if (own >= 0 && e.all[this.holderAt(a, own) + 1] !== 0) return;
    this.anchors[i] = a;
    this.anchorParts[i] = part;
  }
  /** rowOf returns the row of a slot, −1 if there is none. */
  rowOf(slot2) {
    let from = 0;
    let to = this.header.rows;
    while (from < to) {
      const middle = from + to >> 1;
      if (this.slots[middle] < slot2) from = middle + 1;
      else to = middle;
    }
    return from < this.header.rows && this.slots[from] === slot2 ? from : -1;
  }
  /** decode reads the events and all rows into scratch: first those without an anchor. */
  decode() {
    const { header: h, reader: r } = this;
    this.payloads.length = 0;
    for (const e of h.events) {
      if (e.age > h.tick) fail(`an event of ${e.age} ticks before tick ${h.tick}`);
      this.payloads.push(this.readEvent(e.number, true, e.body));
    }
    const n = this.layout.schema.values * h.rows;
    if (this.arena.length < n) this.arena = new Uint32Array(Math.max(n, 2 * this.arena.length));
    let anchored = 0;
    for (let i = 0; i < h.rows; i++) {
      if (this.anchors[i] < 0) this.decodeRow(i);
      else anchored++;
    }
    for (let i = 0; i < h.rows && anchored > 0; i++) if (this.anchors[i] >= 0) this.decodeRow(i);
    r.expectEnd();
  }
  decodeRow(i) {
    const n = this.layout.schema.values;
    const e = this.rows[i];
    if (this.ages[i] === 0) {
      this.codec.readFull(this.reader, e.mask, e.owned, this.arena, i * n);
      this.readExact(i);
      return;
    }
    const p = this.past;
    p.age = this.ages[i] - this.backs[i];
    p.gap = this.gaps[i];
    p.values = e.all;
    p.base = e.valuesAt(this.bases[i]);
    p.older = this.gaps[i] === 0 ? -1 : e.valuesAt(this.olders[i]);
    p.anchor = -1;
    const a = this.anchors[i];
    if (a >= 0) {
      const carrier = this.rows[a];
      p.anchor = this.anchorParts[i];
      p.anchorNow = this.arena;
      p.now = a * n;
      p.anchorPast = carrier.all;
      p.anchorBase = carrier.valuesAt(this.bases[a]);
      p.anchorOlder = this.gaps[a] === 0 ? -1 : carrier.valuesAt(this.olders[a]);
    }
    this.codec.read(this.reader, e.mask, e.owned, p, this.arena, i * n);
    this.readExact(i);
  }
  /** readExact reads the exact part of row i, if it has one. */
  readExact(i) {
    if (this.forms[i] === 0) return;
    while (this.states.length <= i) this.states.push(this.simulation.newState());
    this.readBody(this.forms[i], this.arena, i * this.layout.schema.values, this.states[i]);
  }
  /** checkGrowth checks that the states of the rows cannot exceed the limit. */
  checkGrowth() {
    this.bytesLeft = this.limits.bytes - this.bytes;
    for (let i = 0; i < this.header.rows; i++) {
      this.charge(this.rows[i].growth);
      if (this.forms[i] !== 0 && !this.bodies.isComputed(this.slots[i])) this.charge(this.bodies.bytesOfNew);
    }
  }
  /** publish applies the decoded rows. */
  publish() {
    const { header: h, rows } = this;
    const { tick, seq } = h;
    const events = h.events;
    const payloads = events.length > 0 ? this.payloads.splice(0) : noPayloads;
    for (let i = 0; i < events.length; i++) this.deliver(events[i].number, tick - events[i].age, payloads[i]);
    if (tick > this.tick) {
      this.before = this.tick;
      this.tick = tick;
      this.input = h.input;
    }
    const n = this.layout.schema.values;
    for (let i = 0; i < h.rows; i++) {
      const e = rows[i];
      if (this.gaps[i] !== 0) e.noteBaseline(tick - this.ages[i] - this.gaps[i]);
      const bytes = e.bytes;
      const at = tick - this.backs[i];
      this.newest[i] = e.add(at, this.blendFrom(at, e), this.arena, i * n, this.span) ? 1 : 0;
      this.entityBytes += e.bytes - bytes;
      if (this.newest[i]) {
        this.stats.rows++;
        this.bodies?.updated(e.index, at, this.forms[i] === 0 ? null : this.states[i]);
      } else this.stats.rowsLate++;
    }
    this.acks.add(seq);
    this.ackTicks[seq % 64] = tick;
    this.stats.snapshots++;
    this.bodies?.applied(h, this.structure);
    this.wishes.applied(this.input, this.tick);
    if (this.observer.update) {
      for (let i = 0; i < h.rows; i++) if (this.newest[i]) report(this.observer, rows[i]);
    }
  }
  /**
   * blendFrom returns the tick from which a new state of e is blended in: 0 for its previous
   * state's, unless a snapshot between the two had no row of e. Then e was shown at rest.
   */
  blendFrom(tick, e) {
    return tick < this.tick || this.before <= e.tick ? 0 : Math.min(this.shown, tick - 1);
  }
  /** hold keeps a datagram until its structure arrives. */
  hold(d) {
    const { seq, structure: structure2 } = this.header;
    if (this.held.some((x) => x.seq === seq)) {
      this.stats.duplicates++;
      return "held";
    }
    this.held.push({ structure: structure2, seq, bytes: d.slice() });
    this.held.sort((a, b) => a.seq - b.seq);
    this.stats.held++;
    if (this.held.length > maxHeld) {
      this.held.shift();
      this.stats.overflowed++;
    }
    return "held";
  }
  /** @internal */
  get waiting() {
    return this.held.length;
  }
  /**
   * @internal follow continues a session that has moved: structure is the number of its Welcome,
   * and before holds the snapshots that have overtaken it. release applies them.
   */
  follow(structure2, before2) {
    this.fence = this.structure = structure2;
    this.held = before2?.held.filter((x) => x.structure >= structure2) ?? [];
  }
  /** @internal release applies the held datagrams whose structure has arrived, oldest first. */
  release() {
    if (this.held.length === 0) return;
    const due = this.held.filter((x) => x.structure <= this.structure);
    this.held = this.held.filter((x) => x.structure > this.structure);
    for (const x of due) this.applyState(x.bytes);
  }
  // The end of a session: section 4.1.
  /** @internal leaveAll takes all entities out of view. */
  leaveAll() {
    for (const e of this.entities.slice()) this.leave(this.cells.at(e.index), "interest");
  }
  /** @internal inheritStale copies the Stale handles of an earlier session of the same epoch. */
  inheritStale(before2) {
    for (const [slot2, c] of before2.cells.known()) {
      const generation = c.state === stale ? c.generation : c.generation - 2;
      if (generation < 1) continue;
      const own = this.cells.at(slot2);
      own.generation = generation;
      own.state = stale;
    }
  }
  /** @internal destroyAll destroys every entity that may live. */
  destroyAll() {
    for (const [slot2, c] of this.cells.known()) if (c.state !== stale) this.destroy(c, slot2, c.generation, 0);
  }
};
var noPayloads = [];
function report(o, e) {
  try {
    o.update(e);
  } catch (thrown) {
    rethrow(thrown);
  }
}

// src/simulation.ts
var bodyLines = ["Position[0]", "Position[1]", "Position[2]", "Velocity[0]", "Velocity[1]", "Velocity[2]"];
function checkBodies(s, tickHz) {
  const body = s.components.find((c) => c.name === "body");
  const ok = body?.fields.length === 6 && body.fields.every((f2, i) => f2.path === bodyLines[i] && f2.linear && !f2.owner && f2.kind === "range" && (i < 3 ? f2.low === -1024 && f2.step === 1 / 256 && f2.largest === 524288 : f2.low === -128 && f2.step === 1 / 32 && f2.largest === 8192));
  if (!ok || s.motion?.tickHz !== tickHz) fail("the session simulates, but the schema lacks the component body or the motion line for it");
}

// src/session.ts
var maxExtrapolate = 0.25;
var defaultMaxEntities = 65536;
var defaultMaxBytes = 256 * 2 ** 20;
var minMaxBytes = 2 ** 20;
var resyncEvery = 1e3;
var maxResyncs = 10;
var resyncsWithin = 3e4;
var noBytes = new Uint8Array(0);
var NotJoinedError = class extends Error {
  constructor() {
    super("not joined: wait for the session");
    this.name = "NotJoinedError";
  }
};
var resumedAlike = ["session", "epoch", "generationFloor", "generationCeiling", "maxSlots", "schema", "simulate"];
var movedAlike = ["protocol", "tables", "session"];
function same2(a, b, keys) {
  return keys.every((k) => a[k] === b[k]);
}
var noWorld = { generationFloor: 0, generationCeiling: 0, maxSlots: 0, tickHz: 1, snapshotHz: 0, simulate: false };
var Session = class {
  /** welcome is the newest Welcome, undefined before the first. */
  welcome;
  /** replica is undefined before the first Welcome; a new session has a new one. */
  replica;
  /** controlled is the entity that this session's inputs steer, none if there is none. */
  controlled = none;
  /** rtt is the newest round trip in ms. */
  rtt = 0;
  /** @internal moved says that the newest Welcome moved the session to another room. */
  moved = false;
  /** @internal onWelcome is called for each Welcome before anything that follows it. */
  onWelcome;
  /** @internal goodbye says that the server sent Goodbye. */
  goodbye = false;
  /** @internal freshToken says that the next Hello may begin a session though its token is used. */
  freshToken = false;
  /** @internal prediction is that of predict. */
  prediction;
  /** @internal rendered is when the newest render was, and the tick with fractions for which an input was made then; 0: unknown. */
  rendered = { at: 0, inputTick: 0 };
  /** @internal inputShape is that of the input that the schema declares. */
  inputShape;
  events;
  config;
  layout;
  // of the newest Welcome
  named = 0n;
  // schema in this connection's Hello; 0 asks for the text
  resumes = false;
  // this connection's Hello asks to resume
  able = false;
  // this connection's Hello says that the client simulates
  room;
  // of the next Hello
  outdated = false;
  // the server refused the schema of layout
  epoch;
  token;
  joinedNow = false;
  error;
  frames = new FrameReader();
  out = new ByteWriter();
  command = 0;
  // id of the newest
  commands = 0;
  // number in the session of the newest that is not known to be lost
  unanswered = [];
  wishes = new Wishes();
  stats = new ReplicaStats();
  clock = new Clock(1);
  renderer = new Renderer();
  inputs = new Inputs(this.clock, this.renderer, 0);
  faultsKnown = 0;
  resyncAt = -Infinity;
  // before which no Resync for computed bodies is sent
  resyncs = 0;
  // for computed bodies, in a row
  ordinary = false;
  // there were too many: Hello says that the client does not simulate
  bits = new BitReader();
  constructor(config) {
    this.config = config;
    this.epoch = config.epoch ?? 0n;
    this.token = config.token ?? noBytes;
    this.room = config.room ?? "";
    this.events = config.events ?? new Events();
    checkLimit("maxEntities", config.maxEntities, 1, defaultMaxEntities);
    checkLimit("maxBytes", config.maxBytes, minMaxBytes, defaultMaxBytes);
    checkText("name", config.name, maxName);
    checkText("room", config.room, maxRoom);
    if ((config.token?.length ?? 0) > maxToken) throw new RangeError(`token has ${config.token.length} bytes, at most ${maxToken}`);
    this.send(Type.hello, this.hello());
  }
  send(type, body) {
    appendFrame(this.out, type, body);
  }
  /** takeStream returns the bytes to write to the stream. */
  takeStream() {
    const out = this.out.take();
    this.out.reset();
    return out;
  }
  /** joined reports whether this connection has had its Welcome. */
  get joined() {
    return this.joinedNow && this.error === void 0;
  }
  /** schema is the server's, undefined before the first Welcome. */
  get schema() {
    return this.layout?.schema;
  }
  hello() {
    const { config, welcome: welcome2 } = this;
    this.named = this.layout && !this.outdated ? this.layout.schema.hash : 0n;
    const resumes = this.resumes = welcome2 !== void 0 && welcome2.secret.length > 0 && !this.divergent;
    this.able = this.simulates;
    return encodeHello({
      schema: this.named,
      tables: config.tables.version,
      epoch: welcome2 ? 0n : this.epoch,
      session: resumes ? welcome2.session : 0n,
      secret: resumes ? welcome2.secret : noBytes,
      structure: resumes ? this.replica.structure : 0,
      token: this.token,
      name: config.name ?? "",
      room: this.room,
      abilities: this.able ? 1 : 0
    });
  }
  /** receiveStream applies bytes of the stream, in pieces of any size. What it throws ends the session. */
  receiveStream(p) {
    if (this.error !== void 0) throw this.error;
    try {
      this.frames.feed(p);
      for (let body = this.frames.next(); body !== void 0; body = this.frames.next()) this.message(this.frames.type, body);
    } catch (e) {
      this.error = e;
      throw e;
    }
    this.checkFaults();
    this.prediction?.sync();
  }
  message(type, body) {
    const { Type: Type2 } = messages_exports;
    if (!this.joinedNow && type !== Type2.welcome && type !== Type2.refused) fail(`a message of type ${type} before Welcome`);
    switch (type) {
      case Type2.pad:
        if (body.length > 0) fail("a Pad that is not empty");
        break;
      case Type2.welcome:
        this.receiveWelcome(body);
        break;
      case Type2.refused:
      case Type2.goodbye: {
        const end = parseEnd(type, body);
        if (end.code === Code.schemaMismatch && this.named !== 0n) this.outdated = true;
        this.goodbye = type === Type2.goodbye;
        throw end;
      }
      case Type2.structure:
        this.replica.applyStructure(body);
        break;
      case Type2.result:
        this.receiveResult(body);
        break;
      case Type2.control:
        this.controlled = parseControl(body);
        break;
      default:
        fail(`a message of type ${type}`);
    }
  }
  receiveWelcome(body) {
    const m = parseWelcome(body);
    const { tables } = this.config;
    if (this.joinedNow) this.checkMove(m);
    if (m.protocol !== version) throw new WireError(Code.protocolVersion, `the server speaks version ${m.protocol}, the client ${version}`);
    if (m.tables !== tables.version) throw new WireError(Code.tablesMismatch, `the server has tables ${m.tables.toString(16)}, the client ${tables.version.toString(16)}`);
    if (!this.welcome && this.epoch !== 0n && m.epoch !== this.epoch) throw new WireError(Code.epochMismatch);
    if (m.maxSlots > maxSlots) fail(`a world of ${m.maxSlots} slots`);
    if (m.simulate && !this.able) fail("simulate, which the client did not ask for");
    this.join(m, this.layoutOf(m));
  }
  /** checkMove checks a Welcome after the first of a connection: section 4.2. */
  checkMove(m) {
    const was = this.welcome;
    if (!same2(was, m, movedAlike) || m.epoch === was.epoch || m.resumed || m.commands !== 0) fail("a Welcome that is no move to another room");
  }
  /** layoutOf returns the layout of the schema that a Welcome names, and brings if the client lacks it. */
  layoutOf(m) {
    const known = this.joinedNow ? this.layout.schema.hash : this.named;
    if (m.schema === known || !this.joinedNow && known !== 0n) {
      if (m.schemaText !== "") fail("a schema text, which the client has");
      if (m.schema !== known) fail("another schema than in Hello");
      return this.layout;
    }
    const schema = parseSchema(m.schemaText);
    if (schema.hash !== m.schema) fail("a schema text with another hash");
    return this.layout?.schema.hash === schema.hash ? this.layout : new Layout(schema);
  }
  /** join handles a checked Welcome: the session resumes or moves, or a new one begins (section 4). */
  join(m, layout) {
    const was = this.welcome;
    if (m.resumed && !(was && was.secret.length > 0 && same2(was, m, resumedAlike))) fail("a session resumes, which was not requested");
    const moves = this.joinedNow;
    const own = this.replica?.structure ?? 0;
    this.moved = moves || this.resumes && m.session === was.session && m.epoch !== was.epoch && m.structure > own;
    const want = moves ? own + 1 : this.moved ? m.structure : m.resumed ? own : 0;
    if (m.structure !== want) fail(`a Welcome of structure record ${m.structure}, want ${want}`);
    const before2 = this.replica;
    if (was && was.epoch !== m.epoch) this.forget();
    this.layout = layout;
    this.outdated = false;
    this.commands = m.commands;
    if (m.resumed) {
      this.wishes.resumed(m.commands, m.tick);
      this.inputs.reconnected();
      this.renderer.resumed = true;
    } else {
      this.wishes.renew();
      before2?.deliverRendered(Infinity);
      before2?.leaveAll();
      if (m.simulate) checkBodies(layout.schema, m.tickHz);
      this.renew(layout, m);
      if (before2 && was?.epoch === m.epoch) this.replica.inheritStale(before2);
      if (this.moved) this.replica.follow(m.structure, moves ? before2 : void 0);
    }
    this.replica.able = this.able;
    this.welcome = { ...m, schemaText: "" };
    this.room = m.room;
    this.joinedNow = true;
    if (moves) {
      this.abandon();
      this.send(Type.arrived, noBytes);
    }
    if (this.onWelcome) guard(this.onWelcome);
    if (moves) this.replica.release();
  }
  /** forget drops everything known of a world that is gone: every handle is Stale. */
  forget() {
    this.replica?.deliverRendered(Infinity);
    this.replica?.destroyAll();
    this.wishes.forget();
    this.layout ??= new Layout(parseSchema("worldd schema 2\ninput raw\n"));
    this.renew(this.layout, noWorld);
    this.welcome = void 0;
    this.epoch = 0n;
  }
  /** renew makes an empty replica, which keeps the counters, and an unset clock. */
  renew(layout, m) {
    const { config } = this;
    const limits = { entities: config.maxEntities ?? defaultMaxEntities, bytes: config.maxBytes ?? defaultMaxBytes };
    this.replica = new Replica(layout, config.tables, m.generationFloor, m.generationCeiling, m.maxSlots, limits, config.observer ?? {}, this.events, this.wishes, this.stats, m.simulate ? config.simulation : void 0);
    this.controlled = none;
    this.clock = new Clock(m.tickHz);
    this.renderer = new Renderer();
    this.inputs = new Inputs(this.clock, this.renderer, m.snapshotHz);
    const { input } = layout.schema;
    this.inputShape = input && new Shape(input.fields, input.texts);
    this.prediction?.renew();
  }
  /** asksAgain reports whether why says that the schema or the room is not what it was: the next Hello asks for the schema, or for the room of the config. */
  asksAgain(why) {
    const { room = "" } = this.config;
    const roomGone = why.code === Code.noRoom && this.room !== room;
    if (roomGone) this.room = room;
    return roomGone || why.code === Code.schemaMismatch && this.outdated;
  }
  /** lost tells the session that its connection ended, and why. The replica stays, and resolve answers. */
  lost(why) {
    if (this.joinedNow) this.prediction?.pause();
    this.joinedNow = false;
    this.abandon();
    if (why instanceof WireError && why.code === Code.epochMismatch) this.forget();
  }
  /** abandon ends the commands that will not be answered. */
  abandon() {
    for (const f2 of this.unanswered.splice(0)) {
      this.finish(f2, { id: f2.id, target: f2.target, code: void 0, codeName: "unanswered", verdict: "pending", text: "", answer: void 0, payload: void 0 });
    }
  }
  /** forgetServer makes the next Hello begin a new session and ask for the schema: another server knows neither. */
  forgetServer() {
    this.outdated = true;
    this.room = this.config.room ?? "";
    if (this.welcome) this.welcome = { ...this.welcome, secret: noBytes };
  }
  /** setToken sets the token of the next Hello. */
  setToken(token) {
    this.token = token;
  }
  /** reconnect starts over on another connection, after lost: takeStream returns a new Hello. */
  reconnect() {
    this.frames = new FrameReader();
    this.out.reset();
    this.error = void 0;
    this.goodbye = false;
    this.send(Type.hello, this.hello());
  }
  /** bye queues a Bye: the client leaves, and why. */
  bye(code) {
    this.send(Type.bye, encodeBye(code));
  }
  /** receiveDatagram applies a datagram that arrived at now; undefined: before Welcome. */
  receiveDatagram(d, now2) {
    if (!this.joinedNow) return void 0;
    const r = this.replica;
    const outcome = r.applyState(d);
    if (outcome !== "duplicate") this.measure(now2);
    if (r.tick > this.clock.hz) r.deliverRendered(r.tick - this.clock.hz);
    this.checkFaults();
    this.checkBodies(now2);
    this.prediction?.sync();
    return outcome;
  }
  /** measure learns from the header of the newest datagram. */
  measure(now2) {
    const h = this.replica.stateHeader;
    const c = this.clock;
    if (h.echo !== 0 && h.hold !== 65535) {
      const hold = h.hold / 10;
      this.rtt = Math.max((stampAt(now2) - h.echo | 0) / 10 - hold, 0);
      c.trips.add(now2, this.rtt);
      const sent = c.timeOf(h.tick);
      this.inputs.echoed(now2, h.echo, sent - hold, sent);
    }
    const before2 = c.tick;
    c.snapshot(now2, h.tick);
    if (h.tick > before2) this.renderer.snapshot(now2, c, before2);
  }
  /** checkFaults requests everything again after a datagram whose fold was wrong. */
  checkFaults() {
    const { faults } = this.stats;
    if (faults > this.faultsKnown) this.send(Type.resync, noBytes);
    this.faultsKnown = faults;
  }
  /** checkBodies requests everything again if computed bodies differ from the server's, or were not computed in time. */
  checkBodies(now2) {
    const { bodies } = this.replica;
    if (!bodies || now2 < this.resyncAt || !bodies.needsResync()) return;
    if (now2 - this.resyncAt > resyncsWithin - resyncEvery) this.resyncs = 0;
    this.resyncs++;
    if (this.resyncs === maxResyncs && (this.token.length === 0 || this.freshToken)) this.ordinary = true;
    this.resyncAt = now2 + resyncEvery;
    this.send(Type.resync, noBytes);
  }
  /** simulates reports whether the next session computes bodies if the server allows it. */
  get simulates() {
    return this.config.simulation !== void 0 && !this.ordinary;
  }
  /** @internal divergent reports whether the session computes bodies, but should not any more. */
  get divergent() {
    return this.ordinary && this.welcome?.simulate === true;
  }
  /** resolve returns the verdict on any handle; pending before the first Welcome. */
  resolve(h) {
    return this.replica?.resolve(h) ?? "pending";
  }
  /** render returns the moment to show at now. From the first call on, the replica keeps states for it. */
  render(now2) {
    const r = this.replica;
    const { clock, renderer, inputs } = this;
    if (!r) return { tick: 0, newest: 0, maxExtrapolate: 0 };
    r.span = Math.ceil(clock.ticks(maxDelay));
    this.rendered = { at: now2, inputTick: inputs.inputTick(now2) };
    if (renderer.delay.count === 0) return { tick: 0, newest: 0, maxExtrapolate: 0 };
    renderer.advance(now2, clock);
    const tick = inputs.shownTick;
    r.shown = Math.floor(tick);
    r.deliverRendered(r.shown);
    return { tick, newest: r.tick, maxExtrapolate: maxExtrapolate * clock.hz };
  }
  /** link describes the connection: times in ms. */
  get link() {
    return { rtt: this.clock.trips.least, jitter: this.clock.jitter, delay: this.renderer.delay.value, lead: this.inputs.lead.value };
  }
  /** serverTick returns the server's tick at now with fractions, 0 before the first snapshot. */
  serverTick(now2) {
    return this.clock.serverTick(now2);
  }
  // Inputs: section 10.
  /** setInput sets what the player holds down from now on, and returns the tick that it is for. */
  setInput(input, now2) {
    const m = this.schema?.input;
    if (m ? input instanceof Uint8Array : !(input instanceof Uint8Array)) throw new TypeError(m ? "the schema declares the input: want an object" : "inputs are raw: want bytes");
    if (!m) {
      if (input.length > maxInputBytes) throw new RangeError(`an input of ${input.length} bytes, at most ${maxInputBytes}`);
      return this.inputs.push(input.slice(), now2, this.replica?.input ?? 0);
    }
    return this.setPayload(this.inputShape.quantise(input, m.values), now2);
  }
  /** @internal setPayload is setInput of a quantised input, which it may change. */
  setPayload(p, now2) {
    const m = this.schema.input;
    const wishes = this.wishes.forward(m, p, true);
    const tick = this.inputs.push(m.append(p), now2, this.replica?.input ?? 0);
    this.wishes.pushed(wishes, tick);
    this.prediction?.input(tick, this.inputShape.restore(p));
    return tick;
  }
  /** input returns the Input datagram to send at now, undefined before Welcome. */
  input(now2) {
    const r = this.replica;
    return this.joined && r ? this.inputs.datagram(now2, r.acks, r.structure) : void 0;
  }
  /** inputDue reports whether to send an input at now, if that many datagrams arrived since the last. */
  inputDue(datagrams, now2, streaming) {
    const r = this.replica;
    return this.joined && r !== void 0 && this.inputs.due(datagrams, now2, r.acks, r.waiting, streaming);
  }
  // Commands: section 11.5.
  /** provisional returns a new name for an entity that a command or an input is about to ask for. */
  provisional() {
    if (!this.welcome) throw new NotJoinedError();
    return this.wishes.take();
  }
  /** real returns the handle that a provisional one stands for, none without one; any other as it is. */
  real(h) {
    return isProvisional(h) ? this.wishes.entity(indexOf(h)) : h;
  }
  /** do asks the server to execute a command once. Arguments are as the schema declares them. */
  do(name, args = {}, target = none) {
    const kind = this.commandKind(name);
    if (!kind?.args) throw new TypeError(`the schema declares no command ${name} with arguments`);
    return this.doPayload(kind, new Shape(kind.args.fields, kind.args.texts).quantise(args, kind.args.values), target);
  }
  /** @internal doPayload is do with quantised arguments, which it may change. */
  doPayload(kind, p, target) {
    const wishes = this.wishes.forward(kind.args, p, false);
    return this.sendCommand(kind.name, target, kind.args.append(p), wishes);
  }
  /**
   * doRaw asks for a raw command: args is any value that msgpack has, or undefined for none,
   * and wishes are the provisional handles that it asks for.
   */
  doRaw(name, args, target = none, wishes = []) {
    if (this.commandKind(name)?.args) throw new TypeError(`the schema declares the arguments of ${name}: use do`);
    checkText("command", name, maxName);
    let body = noBytes;
    if (args !== void 0) {
      const w = new MsgpackWriter();
      w.value(args);
      body = w.take();
      new MsgpackReader(body).value();
    }
    return this.sendCommand(name, target, body, this.wishes.ofCommand(wishes));
  }
  commandKind(name) {
    return this.schema?.commands.find((c) => c.name === name);
  }
  sendCommand(name, target, args, wishes) {
    if (!this.joined) throw new NotJoinedError();
    if (name === "" || args.length > maxArgs) throw new RangeError(`command ${name} with ${args.length} bytes of arguments, at most ${maxArgs}`);
    if (this.unanswered.length === maxUnanswered) throw new RangeError(`${maxUnanswered} commands are unanswered`);
    checkWishes(wishes);
    const real = this.real(target);
    if (real !== target && real === none) throw new RangeError("the target is provisional: command the entity after the answer");
    const id = this.command = this.command + 1 >>> 0;
    this.commands++;
    const provisional = wishes[0] ?? 0;
    this.wishes.sent(provisional, wishes.length, this.commands);
    this.send(Type.command, encodeCommand({ id, name, target: real, args, provisional, wishes: wishes.length, view: this.inputs.commandView }));
    const result = new Promise((resolve) => this.unanswered.push({ id, name, target: real, provisional, wishes: wishes.length, resolve }));
    return { id, result };
  }
  receiveResult(body) {
    const m = parseResult(body);
    let verdict = verdicts[m.verdict];
    let { code } = m;
    if (verdict === "pending" && this.resolve(m.target) === "stale") {
      verdict = "stale";
      if (code === Code.unknownHandle) code = Code.staleHandle;
    }
    const i = this.unanswered.findIndex((f3) => f3.id === m.id);
    const f2 = this.unanswered[i];
    const form = f2 && this.commandKind(f2.name)?.answer;
    const payload = f2 && code === Code.ok ? this.readAnswer(form, m.answer) : void 0;
    if (f2) {
      this.unanswered.splice(i, 1);
      this.wishes.result(f2.provisional, f2.wishes);
    }
    const answer = form && payload ? new Shape(form.fields, form.texts).restore(payload) : void 0;
    this.finish(f2, { id: m.id, target: m.target, code, codeName: codeName(code), verdict, text: m.text, answer, payload });
  }
  readAnswer(form, b) {
    if (form) return form.parse(this.bits, b);
    if (b.length > 0) fail("an answer to a command that has none");
    return void 0;
  }
  finish(f2, r) {
    f2?.resolve(r);
    if (this.config.result) guard(() => this.config.result(r));
  }
};
function checkLimit(what, n, least, otherwise) {
  if (n !== void 0 && !(Number.isSafeInteger(n) && n >= least)) {
    throw new RangeError(`${what} is ${n}: in the client's config, give a whole number of at least ${least}, or undefined for ${otherwise}`);
  }
}
function checkText(what, s, max2) {
  const n = new TextEncoder().encode(s ?? "").length;
  if (n > max2) throw new RangeError(`${what} has ${n} bytes, at most ${max2}`);
}

// test/vectors.ts
import { readFileSync } from "node:fs";
import { join } from "node:path";
var root = globalThis.process?.env.WORLDD_ROOT ?? "../..";
function readFile(path) {
  return new Uint8Array(readFileSync(join(root, path)));
}

// test/hex.ts
function readLines(path) {
  const lines = new TextDecoder().decode(readFile(path)).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line));
}
function unhex(text2) {
  return Uint8Array.from(text2.match(/../g) ?? [], (x) => parseInt(x, 16));
}
var single4 = new Float32Array(1);
var bits3 = new Uint32Array(single4.buffer);

// test/oracle.ts
var motion = {
  tickHz: 60,
  gravity: Math.fround(9.81),
  maxSpeed: 128,
  halfX: 30,
  height: 20,
  halfZ: 30,
  restSpeed: Math.fround(0.08),
  restTicks: 12,
  bounds: "bounce"
};
var f = Math.fround;
var kinds = [
  { inverseMass: f(0.05), coupling: f(0.013), radius: 0.5, friction: f(0.6), restitution: f(0.2), layers: 1 },
  { inverseMass: 100, coupling: f(0.3), radius: f(0.1), friction: f(0.2), restitution: f(0.6), layers: 2 },
  { inverseMass: 0, coupling: 0, radius: 1, friction: 0, restitution: 0.5, layers: 3 }
];
var codes = [
  ...readLines("world/motion/testdata/programs.jsonl").slice(0, 3).map((p) => unhex(p.Code)),
  ...readLines("field/testdata/vectors.jsonl").filter((v) => v.Numbers === "grid" && (v.Name === "whirl" || v.Name === "explosion")).map((v) => unhex(v.Program))
];
var programs = codes.map((code) => new Program(code));

// test/server.ts
var schemaText = `worldd schema 2
component purse
Coins int 20
component name
Name string 24
kind crate
input
X range bff0000000000000 3f60000000000000 1024
At ref
command buy
Count uint 5
answer
Left int 20
event chime
Serial uint 8
`;
var tablesVersion = 439885893;
function frame(type, body) {
  const w = new ByteWriter();
  appendFrame(w, type, body);
  return w.take();
}
function welcome(o = {}) {
  const w = new MsgpackWriter();
  w.array(18);
  w.uint(o.protocol ?? 4);
  w.u64(o.schema ?? hashOf(o.text || schemaText));
  w.uint(o.tables ?? tablesVersion);
  w.u64(BigInt(o.epoch ?? 7));
  w.uint(o.floor ?? 0);
  w.uint(o.ceiling ?? 4294967295);
  w.uint(60);
  w.uint(20);
  w.uint(o.maxSlots ?? 1e3);
  w.uint(o.session ?? 1);
  w.uint(100);
  w.uint(o.resumed ? 1 : 0);
  w.bin(o.secret ?? new Uint8Array(16).fill(9));
  w.str(o.room ?? "");
  w.uint(o.simulate ? 1 : 0);
  w.uint(o.commands ?? 0);
  w.uint(o.structure ?? 0);
  w.str(o.text ?? schemaText);
  return frame(Type.welcome, w.take());
}
function structure(first, ...records) {
  const w = new ByteWriter();
  w.uvarint(first);
  w.uvarint(1);
  for (const r of records) w.bytes(r);
  return frame(Type.structure, w.take());
}
function destroy(slot2, generation, cause = 0) {
  const w = new ByteWriter();
  w.u8(cause ? 3 | 1 << 3 : 3);
  w.uvarint(slot2);
  w.uvarint(generation);
  if (cause) w.u8(cause);
  return w.take();
}

// test/heap.test.ts
var text = `worldd schema 2
component place
Position[0] range c090000000000000 3f70000000000000 524288 linear
Position[1] range c090000000000000 3f70000000000000 524288 linear
Position[2] range c090000000000000 3f70000000000000 524288 linear
Yaw angle 8
kind crate
input
X int 8
`;
function golomb(w, k, v) {
  const u = v + 2 ** k;
  const m = 31 - Math.clz32(u);
  for (let i = k; i < m; i++) w.bits(1, 1);
  w.bits(0, 1);
  w.bits(u - 2 ** m, m);
}
function place(w, at) {
  for (const x of [at, 2 * at, 3 * at]) w.bits(x % 524289, 20);
  w.bits(at & 255, 8);
}
function enter(slot2, generation) {
  const row = new BitWriter();
  row.bits(1, 1);
  place(row, slot2);
  const w = new ByteWriter();
  w.u8(1);
  for (const v of [slot2, generation, 0, row.bytes().length]) w.uvarint(v);
  w.bytes(row.bytes());
  return w.take();
}
function snapshot(entities) {
  const fold2 = new Fold();
  const bits4 = new BitWriter();
  if (entities.length > 0) {
    bits4.bits(0, 4);
    golomb(bits4, 4, 0);
  }
  let next = 0;
  for (const { slot: slot2, generation } of entities) {
    fold2.add(slot2, generation);
    golomb(bits4, 0, slot2 - next);
    bits4.bits(0, 1);
    next = slot2 + 1;
  }
  for (const { slot: slot2 } of entities) place(bits4, 7 * slot2);
  const w = new ByteWriter();
  w.bytes(Uint8Array.of(64, 0, 0, 0, 0, 255, 255));
  for (let i = 0; i < 3; i++) w.u32(0);
  w.bytes(Uint8Array.of(0, 0, fold2.value & 255, fold2.value >> 8));
  w.uvarint(entities.length);
  w.bytes(bits4.bytes());
  return w.take();
}
var Sender = class {
  session;
  bytes;
  view;
  seq = 0;
  tick = 100;
  time = 0;
  constructor(session, datagram) {
    this.session = session;
    this.datagram = datagram;
  }
  set datagram(d) {
    this.bytes = d;
    this.view = new DataView(d.buffer, d.byteOffset);
  }
  /** send applies n snapshots, which are two ticks apart. */
  send(n) {
    const { view, session } = this;
    for (let i = 0; i < n; i++) {
      this.tick += 2;
      this.time += 1e3 / 30;
      view.setUint32(7, ++this.seq, true);
      view.setUint32(11, this.tick, true);
      view.setUint32(15, session.replica.structure, true);
      assert.equal(session.receiveDatagram(this.bytes, this.time), "applied");
    }
  }
};
function usual(enough, run) {
  let bytes = Infinity;
  for (let i = 0; i < 50 && bytes >= enough; i++) {
    const all = new Float64Array(51);
    for (let k = 0; k < all.length; k++) {
      const before2 = process.memoryUsage().heapUsed;
      run();
      all[k] = process.memoryUsage().heapUsed - before2;
    }
    bytes = all.sort()[25];
  }
  return bytes;
}
var crates = (n) => Array.from({ length: n }, (_, slot2) => ({ slot: slot2, generation: 1 }));
test("a warm snapshot allocates nothing for a row", async () => {
  const rows = 100;
  const snapshots = 50;
  let updates = 0;
  const s = new Session({ tables: await defaultTables(), observer: { update: () => updates++ } });
  s.receiveStream(welcome({ text, schema: hashOf(text) }));
  s.receiveStream(structure(1, ...crates(rows).map((c) => enter(c.slot, c.generation))));
  const sender = new Sender(s, snapshot(crates(rows)));
  const enough = 8 * rows * snapshots;
  const used = usual(enough, () => sender.send(snapshots));
  assert.ok(used < enough, `${used / snapshots} bytes for a snapshot of ${rows} rows`);
  assert.equal(updates, s.replica.stats.rows);
  assert.ok(updates >= 51 * rows * snapshots);
});
var Crowd = class {
  bodies = new Bodies({ motion, kinds: kinds.map((body) => ({ body })) });
  seq = 0;
  effects = 0;
  constructor(n) {
    codes.forEach((code, number) => this.bodies.extend({ type: "program", number, code }, 1, () => true));
    for (let slot2 = 1; slot2 <= n; slot2++) this.enter(slot2, 1);
  }
  enter(slot2, generation) {
    const s = Object.assign(new State(), { x: slot2 % 29, y: 10, z: slot2 % 23, vx: slot2 % 7, vz: 1, awake: true });
    this.bodies.entered({ slot: slot2, generation }, 1, Math.max(this.bodies.now, 1), s);
  }
  /** push adds an effect of some program, which ends by itself after life ticks unless that is 0. */
  push(program, life) {
    const effect = { slot: 1e4 + this.effects++ % 100, generation: 1 + 2 * Math.floor(this.effects / 100) };
    const path = { form: 0, center: new Float32Array([3, 9, 2]), velocity: zero2, axisU: zero2, axisV: zero2, phase: 0, rate: 0 };
    this.bodies.extend({ type: "added", effect, program, mode: 0, layers: 2, back: 0, age: 1, life, way: { path, leader: nobody }, params: new Float32Array(0) }, this.bodies.now, () => true);
  }
  /** step computes n snapshots, which are two ticks apart. */
  step(n) {
    for (let i = 0; i < n; i++) {
      const tick = this.bodies.now + 2;
      this.bodies.applied({ seq: ++this.seq, tick, structure: 0, complete: true, continued: false, audited: false, audit: 0 }, 0);
      assert.equal(this.bodies.now, tick);
    }
  }
};
var zero2 = new Float32Array(3);
test("a warm step allocates nothing for a body", () => {
  const n = 400;
  const snapshots = 20;
  const crowd = new Crowd(n);
  for (let program = 0; program < 3; program++) crowd.push(program, 0);
  const enough = 8 * 2 * n * snapshots;
  const used = usual(enough, () => crowd.step(snapshots));
  assert.ok(used < enough, `${used / snapshots} bytes for two steps of ${n} bodies`);
  const before2 = crowd.bodies.stats.steps;
  crowd.step(1);
  assert.equal(crowd.bodies.stats.steps - before2, 2 * n, "all are awake");
});
var gc = (() => {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
})();
function heap() {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
function growth(minute) {
  const sizes = [];
  for (let i = 0; i < 10; i++) {
    minute();
    gc();
    gc();
    sizes.push(heap());
  }
  return Math.min(...sizes.slice(7)) - Math.max(...sizes.slice(1, 4));
}
test("ten minutes of snapshots, entities and inputs leave nothing behind", async () => {
  const s = new Session({ tables: await defaultTables() });
  s.receiveStream(welcome({ text, schema: hashOf(text) }));
  const all = crates(60);
  s.receiveStream(structure(1, ...all.map((c) => enter(c.slot, c.generation))));
  const sender = new Sender(s, snapshot(all));
  let turn = 0;
  let destroyed = 0;
  const grown = growth(() => {
    for (let second = 0; second < 60; second++) {
      const records = [];
      for (let i = 0; i < 5; i++, turn++) {
        const { slot: slot2, generation } = all[turn % all.length];
        all[turn % all.length] = { slot: slot2, generation: generation + 2 };
        records.push(destroy(slot2, generation), enter(slot2, generation + 2));
        destroyed++;
      }
      s.receiveStream(structure(s.replica.structure + 1, ...records));
      sender.datagram = snapshot(all);
      for (let i = 0; i < 30; i++) {
        sender.send(1);
        s.render(sender.time);
        s.setInput({ X: i }, sender.time);
        s.input(sender.time);
      }
    }
  });
  assert.equal(s.replica.stats.destroys, destroyed);
  assert.ok(grown < 512 << 10, `the heap grew by ${grown} bytes`);
});
test("ten minutes of bodies and effects leave nothing behind", () => {
  const crowd = new Crowd(40);
  let generation = 1;
  const grown = growth(() => {
    generation += 2;
    for (let second = 0; second < 60; second++) {
      if (second < 40) {
        crowd.bodies.gone(second + 1);
        crowd.enter(second + 1, generation);
      }
      crowd.push(second % 3, 90);
      crowd.step(30);
    }
  });
  assert.equal(crowd.bodies.stats.clean, 40);
  assert.ok(grown < 512 << 10, `the heap grew by ${grown} bytes`);
});
