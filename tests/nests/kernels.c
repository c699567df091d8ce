// SPDX-License-Identifier: MIT
/*
 * Thirty loop nests of linear algebra, solvers, stencils and data mining, of the kinds and sizes that PolyBench/C 4 made customary (its
 * names, so that figures can be compared; the code is written anew). SIZE is 0 (mini) to 3 (large); sizes are macros, arrays are parameters.
 */
#include <math.h>

#ifndef SIZE
#define SIZE 3
#endif
#define PICK_0(a, b, c, d) a
#define PICK_1(a, b, c, d) b
#define PICK_2(a, b, c, d) c
#define PICK_3(a, b, c, d) d
#define PICK_OF(size)      PICK_##size
#define PICK_NAME(size)    PICK_OF(size)
#define S(a, b, c, d)      PICK_NAME(SIZE)(a, b, c, d)

typedef double real;

/* ---- products of matrices ------------------------------------------------------------------------------ */

#define GEMM_I S(20, 60, 200, 1000)
#define GEMM_J S(25, 70, 220, 1100)
#define GEMM_K S(30, 80, 240, 1200)
void gemm(real alpha, real beta, real C[GEMM_I][GEMM_J], real A[GEMM_I][GEMM_K],
          real B[GEMM_K][GEMM_J])
{
    for (int i = 0; i < GEMM_I; i++) {
        for (int j = 0; j < GEMM_J; j++)
            C[i][j] *= beta;
        for (int k = 0; k < GEMM_K; k++)
            for (int j = 0; j < GEMM_J; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
}

#define MM2_I S(16, 40, 180, 800)
#define MM2_J S(18, 50, 190, 900)
#define MM2_K S(22, 70, 210, 1100)
#define MM2_L S(24, 80, 220, 1200)
void two_mm(real alpha, real beta, real tmp[MM2_I][MM2_J], real A[MM2_I][MM2_K],
            real B[MM2_K][MM2_J], real C[MM2_J][MM2_L], real D[MM2_I][MM2_L])
{
    for (int i = 0; i < MM2_I; i++)
        for (int j = 0; j < MM2_J; j++) {
            tmp[i][j] = 0;
            for (int k = 0; k < MM2_K; ++k)
                tmp[i][j] += alpha * A[i][k] * B[k][j];
        }
    for (int i = 0; i < MM2_I; i++)
        for (int j = 0; j < MM2_L; j++) {
            D[i][j] *= beta;
            for (int k = 0; k < MM2_J; ++k)
                D[i][j] += tmp[i][k] * C[k][j];
        }
}

#define MM3_I S(16, 40, 180, 800)
#define MM3_J S(18, 50, 190, 900)
#define MM3_K S(20, 60, 200, 1000)
#define MM3_L S(22, 70, 210, 1100)
#define MM3_M S(24, 80, 220, 1200)
void three_mm(real E[MM3_I][MM3_J], real A[MM3_I][MM3_K], real B[MM3_K][MM3_J],
              real F[MM3_J][MM3_L], real C[MM3_J][MM3_M], real D[MM3_M][MM3_L],
              real G[MM3_I][MM3_L])
{
    for (int i = 0; i < MM3_I; i++)
        for (int j = 0; j < MM3_J; j++) {
            E[i][j] = 0;
            for (int k = 0; k < MM3_K; ++k)
                E[i][j] += A[i][k] * B[k][j];
        }
    for (int i = 0; i < MM3_J; i++)
        for (int j = 0; j < MM3_L; j++) {
            F[i][j] = 0;
            for (int k = 0; k < MM3_M; ++k)
                F[i][j] += C[i][k] * D[k][j];
        }
    for (int i = 0; i < MM3_I; i++)
        for (int j = 0; j < MM3_L; j++) {
            G[i][j] = 0;
            for (int k = 0; k < MM3_J; ++k)
                G[i][j] += E[i][k] * F[k][j];
        }
}

#define DOI_R S(8, 20, 40, 140)
#define DOI_Q S(10, 25, 50, 150)
#define DOI_P S(12, 30, 60, 160)
void doitgen(real A[DOI_R][DOI_Q][DOI_P], real C4[DOI_P][DOI_P], real sum[DOI_P])
{
    for (int r = 0; r < DOI_R; r++)
        for (int q = 0; q < DOI_Q; q++) {
            for (int p = 0; p < DOI_P; p++) {
                sum[p] = 0;
                for (int s = 0; s < DOI_P; s++)
                    sum[p] += A[r][q][s] * C4[s][p];
            }
            for (int p = 0; p < DOI_P; p++)
                A[r][q][p] = sum[p];
        }
}

#define SY_M S(20, 60, 200, 1000)
#define SY_N S(30, 80, 240, 1200)
void symm(real alpha, real beta, real C[SY_M][SY_N], real A[SY_M][SY_M], real B[SY_M][SY_N])
{
    for (int i = 0; i < SY_M; i++)
        for (int j = 0; j < SY_N; j++) {
            real sum = 0;
            for (int k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                sum += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * sum;
        }
}

void syrk(real alpha, real beta, real C[SY_N][SY_N], real A[SY_N][SY_M])
{
    for (int i = 0; i < SY_N; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < SY_M; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += alpha * A[i][k] * A[j][k];
    }
}

void syr2k(real alpha, real beta, real C[SY_N][SY_N], real A[SY_N][SY_M], real B[SY_N][SY_M])
{
    for (int i = 0; i < SY_N; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < SY_M; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
    }
}

void trmm(real alpha, real A[SY_M][SY_M], real B[SY_M][SY_N])
{
    for (int i = 0; i < SY_M; i++)
        for (int j = 0; j < SY_N; j++) {
            for (int k = i + 1; k < SY_M; k++)
                B[i][j] += A[k][i] * B[k][j];
            B[i][j] = alpha * B[i][j];
        }
}

/* ---- matrices and vectors --------------------------------------------------------------------------------- */

#define AT_M S(38, 116, 390, 1900)
#define AT_N S(42, 124, 410, 2100)
void atax(real A[AT_M][AT_N], real x[AT_N], real y[AT_N], real tmp[AT_M])
{
    for (int i = 0; i < AT_N; i++)
        y[i] = 0;
    for (int i = 0; i < AT_M; i++) {
        tmp[i] = 0;
        for (int j = 0; j < AT_N; j++)
            tmp[i] = tmp[i] + A[i][j] * x[j];
        for (int j = 0; j < AT_N; j++)
            y[j] = y[j] + A[i][j] * tmp[i];
    }
}

void bicg(real A[AT_N][AT_M], real s[AT_M], real q[AT_N], real p[AT_M], real r[AT_N])
{
    for (int i = 0; i < AT_M; i++)
        s[i] = 0;
    for (int i = 0; i < AT_N; i++) {
        q[i] = 0;
        for (int j = 0; j < AT_M; j++) {
            s[j] = s[j] + r[i] * A[i][j];
            q[i] = q[i] + A[i][j] * p[j];
        }
    }
}

#define LA_N S(40, 120, 400, 2000)
void gemver(real alpha, real beta, real A[LA_N][LA_N], real u1[LA_N], real v1[LA_N], real u2[LA_N],
            real v2[LA_N], real w[LA_N], real x[LA_N], real y[LA_N], real z[LA_N])
{
    for (int i = 0; i < LA_N; i++)
        for (int j = 0; j < LA_N; j++)
            A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
    for (int i = 0; i < LA_N; i++)
        for (int j = 0; j < LA_N; j++)
            x[i] = x[i] + beta * A[j][i] * y[j];
    for (int i = 0; i < LA_N; i++)
        x[i] = x[i] + z[i];
    for (int i = 0; i < LA_N; i++)
        for (int j = 0; j < LA_N; j++)
            w[i] = w[i] + alpha * A[i][j] * x[j];
}

#define GS_N S(30, 90, 250, 1300)
void gesummv(real alpha, real beta, real A[GS_N][GS_N], real B[GS_N][GS_N], real tmp[GS_N],
             real x[GS_N], real y[GS_N])
{
    for (int i = 0; i < GS_N; i++) {
        tmp[i] = 0;
        y[i] = 0;
        for (int j = 0; j < GS_N; j++) {
            tmp[i] = A[i][j] * x[j] + tmp[i];
            y[i] = B[i][j] * x[j] + y[i];
        }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
}

void mvt(real x1[LA_N], real x2[LA_N], real y1[LA_N], real y2[LA_N], real A[LA_N][LA_N])
{
    for (int i = 0; i < LA_N; i++)
        for (int j = 0; j < LA_N; j++)
            x1[i] = x1[i] + A[i][j] * y1[j];
    for (int i = 0; i < LA_N; i++)
        for (int j = 0; j < LA_N; j++)
            x2[i] = x2[i] + A[j][i] * y2[j];
}

/* ---- solvers --------------------------------------------------------------------------------------------------- */

void cholesky(real A[LA_N][LA_N])
{
    for (int i = 0; i < LA_N; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j];
        }
        for (int k = 0; k < i; k++)
            A[i][i] -= A[i][k] * A[i][k];
        A[i][i] = sqrt(A[i][i]);
    }
}

void durbin(real r[LA_N], real y[LA_N], real z[LA_N])
{
    real alpha = -r[0], beta = 1, sum;
    y[0] = -r[0];
    for (int k = 1; k < LA_N; k++) {
        beta = (1 - alpha * alpha) * beta;
        sum = 0;
        for (int i = 0; i < k; i++)
            sum += r[k - i - 1] * y[i];
        alpha = -(r[k] + sum) / beta;
        for (int i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - i - 1];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
    }
}

#define GR_M S(20, 60, 200, 1000)
#define GR_N S(30, 80, 240, 1200)
void gramschmidt(real A[GR_M][GR_N], real R[GR_N][GR_N], real Q[GR_M][GR_N])
{
    for (int k = 0; k < GR_N; k++) {
        real norm = 0;
        for (int i = 0; i < GR_M; i++)
            norm += A[i][k] * A[i][k];
        R[k][k] = sqrt(norm);
        for (int i = 0; i < GR_M; i++)
            Q[i][k] = A[i][k] / R[k][k];
        for (int j = k + 1; j < GR_N; j++) {
            R[k][j] = 0;
            for (int i = 0; i < GR_M; i++)
                R[k][j] += Q[i][k] * A[i][j];
            for (int i = 0; i < GR_M; i++)
                A[i][j] = A[i][j] - Q[i][k] * R[k][j];
        }
    }
}

void lu(real A[LA_N][LA_N])
{
    for (int i = 0; i < LA_N; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[k][j];
            A[i][j] /= A[j][j];
        }
        for (int j = i; j < LA_N; j++)
            for (int k = 0; k < i; k++)
                A[i][j] -= A[i][k] * A[k][j];
    }
}

void ludcmp(real A[LA_N][LA_N], real b[LA_N], real x[LA_N], real y[LA_N])
{
    real w;
    for (int i = 0; i < LA_N; i++) {
        for (int j = 0; j < i; j++) {
            w = A[i][j];
            for (int k = 0; k < j; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w / A[j][j];
        }
        for (int j = i; j < LA_N; j++) {
            w = A[i][j];
            for (int k = 0; k < i; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w;
        }
    }
    for (int i = 0; i < LA_N; i++) {
        w = b[i];
        for (int j = 0; j < i; j++)
            w -= A[i][j] * y[j];
        y[i] = w;
    }
    for (int i = LA_N - 1; i >= 0; i--) {
        w = y[i];
        for (int j = i + 1; j < LA_N; j++)
            w -= A[i][j] * x[j];
        x[i] = w / A[i][i];
    }
}

void trisolv(real L[LA_N][LA_N], real x[LA_N], real b[LA_N])
{
    for (int i = 0; i < LA_N; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
        x[i] = x[i] / L[i][i];
    }
}

/* ---- data mining --------------------------------------------------------------------------------------------------- */

#define CO_M S(28, 80, 240, 1200)
#define CO_N S(32, 100, 260, 1400)
void correlation(real data[CO_N][CO_M], real corr[CO_M][CO_M], real mean[CO_M], real stddev[CO_M])
{
    for (int j = 0; j < CO_M; j++) {
        mean[j] = 0;
        for (int i = 0; i < CO_N; i++)
            mean[j] += data[i][j];
        mean[j] /= CO_N;
    }
    for (int j = 0; j < CO_M; j++) {
        stddev[j] = 0;
        for (int i = 0; i < CO_N; i++)
            stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        stddev[j] /= CO_N;
        stddev[j] = sqrt(stddev[j]);
        stddev[j] = stddev[j] <= 0.1 ? 1 : stddev[j];
    }
    for (int i = 0; i < CO_N; i++)
        for (int j = 0; j < CO_M; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt(CO_N) * stddev[j];
        }
    for (int i = 0; i < CO_M - 1; i++) {
        corr[i][i] = 1;
        for (int j = i + 1; j < CO_M; j++) {
            corr[i][j] = 0;
            for (int k = 0; k < CO_N; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
    corr[CO_M - 1][CO_M - 1] = 1;
}

void covariance(real data[CO_N][CO_M], real cov[CO_M][CO_M], real mean[CO_M])
{
    for (int j = 0; j < CO_M; j++) {
        mean[j] = 0;
        for (int i = 0; i < CO_N; i++)
            mean[j] += data[i][j];
        mean[j] /= CO_N;
    }
    for (int i = 0; i < CO_N; i++)
        for (int j = 0; j < CO_M; j++)
            data[i][j] -= mean[j];
    for (int i = 0; i < CO_M; i++)
        for (int j = i; j < CO_M; j++) {
            cov[i][j] = 0;
            for (int k = 0; k < CO_N; k++)
                cov[i][j] += data[k][i] * data[k][j];
            cov[i][j] /= CO_N - 1.0;
            cov[j][i] = cov[i][j];
        }
}

/* ---- medley ------------------------------------------------------------------------------------------------------------ */

#define DE_W S(64, 192, 720, 4096)
#define DE_H S(64, 128, 480, 2160)
void deriche(float alpha, float in[DE_W][DE_H], float out[DE_W][DE_H], float y1[DE_W][DE_H],
             float y2[DE_W][DE_H])
{
    float k =
        (1 - expf(-alpha)) * (1 - expf(-alpha)) / (1 + 2 * alpha * expf(-alpha) - expf(2 * alpha));
    float a1 = k, a2 = k * expf(-alpha) * (alpha - 1), a3 = k * expf(-alpha) * (alpha + 1);
    float a4 = -k * expf(-2 * alpha), b1 = powf(2, -alpha), b2 = -expf(-2 * alpha);
    for (int i = 0; i < DE_W; i++) {
        float ym1 = 0, ym2 = 0, xm1 = 0;
        for (int j = 0; j < DE_H; j++) {
            y1[i][j] = a1 * in[i][j] + a2 * xm1 + b1 * ym1 + b2 * ym2;
            xm1 = in[i][j];
            ym2 = ym1;
            ym1 = y1[i][j];
        }
    }
    for (int i = 0; i < DE_W; i++) {
        float yp1 = 0, yp2 = 0, xp1 = 0, xp2 = 0;
        for (int j = DE_H - 1; j >= 0; j--) {
            y2[i][j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
            xp2 = xp1;
            xp1 = in[i][j];
            yp2 = yp1;
            yp1 = y2[i][j];
        }
    }
    for (int i = 0; i < DE_W; i++)
        for (int j = 0; j < DE_H; j++)
            out[i][j] = y1[i][j] + y2[i][j];
    for (int j = 0; j < DE_H; j++) {
        float tm1 = 0, ym1 = 0, ym2 = 0;
        for (int i = 0; i < DE_W; i++) {
            y1[i][j] = a1 * out[i][j] + a2 * tm1 + b1 * ym1 + b2 * ym2;
            tm1 = out[i][j];
            ym2 = ym1;
            ym1 = y1[i][j];
        }
    }
    for (int j = 0; j < DE_H; j++) {
        float tp1 = 0, tp2 = 0, yp1 = 0, yp2 = 0;
        for (int i = DE_W - 1; i >= 0; i--) {
            y2[i][j] = a3 * tp1 + a4 * tp2 + b1 * yp1 + b2 * yp2;
            tp2 = tp1;
            tp1 = out[i][j];
            yp2 = yp1;
            yp1 = y2[i][j];
        }
    }
    for (int i = 0; i < DE_W; i++)
        for (int j = 0; j < DE_H; j++)
            out[i][j] = y1[i][j] + y2[i][j];
}

#define FW_N S(60, 180, 500, 2800)
void floyd_warshall(int path[FW_N][FW_N])
{
    for (int k = 0; k < FW_N; k++)
        for (int i = 0; i < FW_N; i++)
            for (int j = 0; j < FW_N; j++)
                path[i][j] =
                    path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j];
}

#define NU_N         S(60, 180, 500, 2500)
#define LARGER(a, b) ((a) >= (b) ? (a) : (b))
void nussinov(char seq[NU_N], int table[NU_N][NU_N])
{
    for (int i = NU_N - 1; i >= 0; i--)
        for (int j = i + 1; j < NU_N; j++) {
            if (j - 1 >= 0)
                table[i][j] = LARGER(table[i][j], table[i][j - 1]);
            if (i + 1 < NU_N)
                table[i][j] = LARGER(table[i][j], table[i + 1][j]);
            if (j - 1 >= 0 && i + 1 < NU_N) {
                if (i < j - 1)
                    table[i][j] =
                        LARGER(table[i][j], table[i + 1][j - 1] + (seq[i] + seq[j] == 3 ? 1 : 0));
                else
                    table[i][j] = LARGER(table[i][j], table[i + 1][j - 1]);
            }
            for (int k = i + 1; k < j; k++)
                table[i][j] = LARGER(table[i][j], table[i][k] + table[k + 1][j]);
        }
}

/* ---- stencils ----------------------------------------------------------------------------------------------------------- */

#define AD_T S(20, 40, 100, 500)
#define AD_N S(20, 60, 200, 1000)
void adi(real u[AD_N][AD_N], real v[AD_N][AD_N], real p[AD_N][AD_N], real q[AD_N][AD_N])
{
    real dx = 1.0 / AD_N, dt = 1.0 / AD_T, m1 = 2 * dt / (dx * dx), m2 = dt / (dx * dx);
    real a = -m1 / 2, b = 1 + m1, c = a, d = -m2 / 2, e = 1 + m2, f = d;
    for (int t = 1; t <= AD_T; t++) {
        for (int i = 1; i < AD_N - 1; i++) {
            v[0][i] = 1;
            p[i][0] = 0;
            q[i][0] = v[0][i];
            for (int j = 1; j < AD_N - 1; j++) {
                p[i][j] = -c / (a * p[i][j - 1] + b);
                q[i][j] =
                    (-d * u[j][i - 1] + (1 + 2 * d) * u[j][i] - f * u[j][i + 1] - a * q[i][j - 1]) /
                    (a * p[i][j - 1] + b);
            }
            v[AD_N - 1][i] = 1;
            for (int j = AD_N - 2; j >= 1; j--)
                v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        for (int i = 1; i < AD_N - 1; i++) {
            u[i][0] = 1;
            p[i][0] = 0;
            q[i][0] = u[i][0];
            for (int j = 1; j < AD_N - 1; j++) {
                p[i][j] = -f / (d * p[i][j - 1] + e);
                q[i][j] =
                    (-a * v[i - 1][j] + (1 + 2 * a) * v[i][j] - c * v[i + 1][j] - d * q[i][j - 1]) /
                    (d * p[i][j - 1] + e);
            }
            u[i][AD_N - 1] = 1;
            for (int j = AD_N - 2; j >= 1; j--)
                u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
}

#define FD_T S(20, 40, 100, 500)
#define FD_X S(20, 60, 200, 1000)
#define FD_Y S(30, 80, 240, 1200)
void fdtd_2d(real ex[FD_X][FD_Y], real ey[FD_X][FD_Y], real hz[FD_X][FD_Y], real fict[FD_T])
{
    for (int t = 0; t < FD_T; t++) {
        for (int j = 0; j < FD_Y; j++)
            ey[0][j] = fict[t];
        for (int i = 1; i < FD_X; i++)
            for (int j = 0; j < FD_Y; j++)
                ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < FD_X; i++)
            for (int j = 1; j < FD_Y; j++)
                ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < FD_X - 1; i++)
            for (int j = 0; j < FD_Y - 1; j++)
                hz[i][j] = hz[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}

#define HE_T S(20, 40, 100, 500)
#define HE_N S(10, 20, 40, 120)
void heat_3d(real A[HE_N][HE_N][HE_N], real B[HE_N][HE_N][HE_N])
{
    for (int t = 1; t <= HE_T; t++) {
        for (int i = 1; i < HE_N - 1; i++)
            for (int j = 1; j < HE_N - 1; j++)
                for (int k = 1; k < HE_N - 1; k++)
                    B[i][j][k] = 0.125 * (A[i + 1][j][k] - 2 * A[i][j][k] + A[i - 1][j][k]) +
                                 0.125 * (A[i][j + 1][k] - 2 * A[i][j][k] + A[i][j - 1][k]) +
                                 0.125 * (A[i][j][k + 1] - 2 * A[i][j][k] + A[i][j][k - 1]) +
                                 A[i][j][k];
        for (int i = 1; i < HE_N - 1; i++)
            for (int j = 1; j < HE_N - 1; j++)
                for (int k = 1; k < HE_N - 1; k++)
                    A[i][j][k] = 0.125 * (B[i + 1][j][k] - 2 * B[i][j][k] + B[i - 1][j][k]) +
                                 0.125 * (B[i][j + 1][k] - 2 * B[i][j][k] + B[i][j - 1][k]) +
                                 0.125 * (B[i][j][k + 1] - 2 * B[i][j][k] + B[i][j][k - 1]) +
                                 B[i][j][k];
    }
}

#define J1_T S(20, 40, 100, 500)
#define J1_N S(30, 120, 400, 2000)
void jacobi_1d(real A[J1_N], real B[J1_N])
{
    for (int t = 0; t < J1_T; t++) {
        for (int i = 1; i < J1_N - 1; i++)
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < J1_N - 1; i++)
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1]);
    }
}

#define J2_T S(20, 40, 100, 500)
#define J2_N S(30, 90, 250, 1300)
void jacobi_2d(real A[J2_N][J2_N], real B[J2_N][J2_N])
{
    for (int t = 0; t < J2_T; t++) {
        for (int i = 1; i < J2_N - 1; i++)
            for (int j = 1; j < J2_N - 1; j++)
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][1 + j] + A[1 + i][j] + A[i - 1][j]);
        for (int i = 1; i < J2_N - 1; i++)
            for (int j = 1; j < J2_N - 1; j++)
                A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][1 + j] + B[1 + i][j] + B[i - 1][j]);
    }
}

#define SE_T S(20, 40, 100, 500)
#define SE_N S(40, 120, 400, 2000)
void seidel_2d(real A[SE_N][SE_N])
{
    for (int t = 0; t <= SE_T - 1; t++)
        for (int i = 1; i <= SE_N - 2; i++)
            for (int j = 1; j <= SE_N - 2; j++)
                A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] +
                           A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) /
                          9;
}
